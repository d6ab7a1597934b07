// Runs the cases of ../cases.json in cel-go and, in the same run, in Nodeward's benchmark program, by turns; prints one table.
//
//	go run . <cases.json> <path of the cel benchmark> [rounds]
//
// cel-go gets what helps it most: one program per expression with constants folded in advance (OptOptimize), native Go maps
// made once, and one activation that is used again. Figures are CPU time, the least of the rounds.
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
)

type benchCase struct {
	Name, Variable, Expression string
}

type caseFile struct {
	Event map[string]any `json:"event"`
	Node  map[string]any `json:"node"`
	Cases []benchCase    `json:"cases"`
}

func program(variable, expression string) cel.Program {
	env, err := cel.NewEnv(cel.Variable(variable, cel.DynType), ext.Strings())
	if err != nil {
		panic(err)
	}
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		panic(issues.Err())
	}
	p, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		panic(err)
	}
	return p
}

func mustEval(p cel.Program, input any) {
	out, _, err := p.Eval(input)
	if err != nil {
		panic(err)
	}
	if _, isBool := out.Value().(bool); !isBool {
		panic("no bool")
	}
}

func hundred(cases []benchCase) []cel.Program {
	events := []string{}
	for _, c := range cases {
		if c.Variable == "event" {
			events = append(events, c.Expression)
		}
	}
	sets := []cel.Program{}
	for i := 0; i < 100; i++ {
		sets = append(sets, program("event", fmt.Sprintf("event.agent != 'agent-%d' && (%s)", i, events[i%len(events)])))
	}
	return sets
}

// cpuTime is what this process has used so far, garbage collection included: other work on the machine must not count.
func cpuTime() float64 {
	usage := syscall.Rusage{}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Utime.Nano() + usage.Stime.Nano())
}

// measure gives nanoseconds of CPU and heap allocations per round of `body`, over half a second or more.
func measure(body func()) (float64, float64) {
	body()
	runtime.GC()
	before, after := runtime.MemStats{}, runtime.MemStats{}
	for rounds := 1; ; rounds *= 2 {
		runtime.ReadMemStats(&before)
		begin := cpuTime()
		for i := 0; i < rounds; i++ {
			body()
		}
		used := cpuTime() - begin
		runtime.ReadMemStats(&after)
		if used >= 5e8 {
			return used / float64(rounds), float64(after.Mallocs-before.Mallocs) / float64(rounds)
		}
	}
}

type figure struct{ ns, allocations float64 }

func keepLeast(into map[string]figure, name string, f figure) {
	if old, seen := into[name]; !seen || f.ns < old.ns {
		into[name] = f
	}
}

func peerRound(file caseFile, into map[string]figure) {
	inputs := map[string]any{}
	for name, value := range map[string]any{"event": file.Event, "node": file.Node} {
		activation, err := cel.NewActivation(map[string]any{name: value})
		if err != nil {
			panic(err)
		}
		inputs[name] = activation
	}
	add := func(name string, body func()) {
		ns, allocations := measure(body)
		keepLeast(into, name, figure{ns, allocations})
	}
	for _, c := range file.Cases {
		p, input := program(c.Variable, c.Expression), inputs[c.Variable]
		add(c.Name, func() { mustEval(p, input) })
	}
	sets := hundred(file.Cases)
	add("100 rule sets", func() {
		for _, p := range sets {
			mustEval(p, inputs["event"])
		}
	})
	text, _ := json.Marshal(file.Event)
	add("event text to 100 verdicts", func() {
		event := map[string]any{}
		if err := json.Unmarshal(text, &event); err != nil {
			panic(err)
		}
		input := map[string]any{"event": event}
		for _, p := range sets {
			mustEval(p, input)
		}
	})
}

func ourRound(path string, into map[string]figure) error {
	out, err := exec.Command(path, "--benchmark_format=json", "--benchmark_min_time=0.5").Output()
	if err != nil {
		return err
	}
	report := struct {
		Benchmarks []struct {
			Name        string
			CPUTime     float64 `json:"cpu_time"`
			Allocations float64
		}
	}{}
	if err := json.Unmarshal(out, &report); err != nil {
		return err
	}
	for _, b := range report.Benchmarks {
		keepLeast(into, b.Name, figure{b.CPUTime, b.Allocations})
	}
	return nil
}

func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: peer <cases.json> <cel benchmark> [rounds]")
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	file := caseFile{}
	if err := json.Unmarshal(text, &file); err != nil {
		return err
	}
	rounds := 3
	if len(args) > 2 {
		if rounds, err = strconv.Atoi(args[2]); err != nil {
			return err
		}
	}
	peer, ours := map[string]figure{}, map[string]figure{}
	for i := 0; i < rounds; i++ {
		if err := ourRound(args[1], ours); err != nil {
			return err
		}
		peerRound(file, peer)
	}
	names := []string{}
	for _, c := range file.Cases {
		names = append(names, c.Name)
	}
	names = append(names, "100 rule sets", "event text to 100 verdicts")
	fmt.Printf("| %-27s | %12s | %12s | %6s | %11s | %11s |\n", "case", "Nodeward ns", "cel-go ns", "ratio", "our allocs", "peer allocs")
	fmt.Printf("|%s|%s:|%s:|%s:|%s:|%s:|\n", strings.Repeat("-", 29), strings.Repeat("-", 13), strings.Repeat("-", 13), strings.Repeat("-", 7), strings.Repeat("-", 12), strings.Repeat("-", 12))
	for _, name := range names {
		o, p := ours[name], peer[name]
		fmt.Printf("| %-27s | %12.0f | %12.0f | %6.1f | %11.1f | %11.0f |\n", name, o.ns, p.ns, p.ns/math.Max(o.ns, 0.1), o.allocations, p.allocations)
	}
	return nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

// What cel-go says. Two uses:
//
//	go run . generate <values.json> <count> <seed>   expressions with cel-go's results, one JSON line each
//	go run . table <values.json> <table.tsv>...      the same for the rows of the field's tables
//
// "want" is the value in the canonical form of canonical.h, or "error". When cel-go's checker refuses the expression, "want"
// is what it evaluates to unchecked, and "refused" is true.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
)

type line struct {
	Event   string `json:"event"`
	Node    string `json:"node"`
	Expr    string `json:"expr"`
	Want    string `json:"want"`
	Refused bool   `json:"refused,omitempty"`
}

func canonical(v ref.Val) string {
	switch t := v.(type) {
	case types.Null:
		return "null"
	case types.Bool:
		return fmt.Sprint(bool(t))
	case types.Int:
		return fmt.Sprintf("int:%d", int64(t))
	case types.Uint:
		return fmt.Sprintf("uint:%d", uint64(t))
	case types.Double:
		if math.IsNaN(float64(t)) {
			return "double:nan"
		}
		return fmt.Sprintf("double:%016x", math.Float64bits(float64(t)))
	case types.String:
		return "string:" + hex.EncodeToString([]byte(t))
	case types.Bytes:
		return "bytes:" + hex.EncodeToString(t)
	case types.Duration:
		return fmt.Sprintf("duration:%d", t.Duration.Nanoseconds())
	case types.Timestamp:
		return fmt.Sprintf("timestamp:%d.%d", t.Time.Unix(), t.Time.Nanosecond())
	case *types.Type:
		return "type:" + t.TypeName()
	case traits.Lister:
		items := []string{}
		for it := t.Iterator(); it.HasNext() == types.True; {
			items = append(items, canonical(it.Next()))
		}
		return "[" + strings.Join(items, ",") + "]"
	case traits.Mapper:
		entries := []string{}
		for it := t.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			entries = append(entries, canonical(key)+"="+canonical(t.Get(key)))
		}
		sort.Strings(entries)
		return "{" + strings.Join(entries, ",") + "}"
	}
	return "unknown"
}

// plain makes numbers what rules see: an event's are doubles, a node's whole ones are ints.
func plain(v any, whole bool) any {
	switch t := v.(type) {
	case map[string]any:
		for k, m := range t {
			t[k] = plain(m, whole)
		}
	case []any:
		for i, m := range t {
			t[i] = plain(m, whole)
		}
	case float64:
		if whole && t == math.Trunc(t) {
			return int64(t)
		}
	}
	return v
}

func loadValues(path string) (map[string]map[string]any, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	values := map[string]map[string]any{}
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, err
	}
	for _, value := range values {
		_, isNode := value["spec"]
		plain(value, isNode)
	}
	values["long"]["message"] = strings.Repeat("x", 200000) + "Z"
	return values, nil
}

func evaluate(env *cel.Env, ast *cel.Ast, input map[string]any) string {
	program, err := env.Program(ast)
	if err != nil {
		return "error"
	}
	out, _, err := program.Eval(input)
	if err != nil || types.IsError(out) {
		return "error"
	}
	return canonical(out)
}

func opinion(env *cel.Env, text string, input map[string]any) (want string, refused bool) {
	if ast, issues := env.Compile(text); issues.Err() == nil {
		return evaluate(env, ast, input), false
	}
	ast, issues := env.Parse(text)
	if issues.Err() != nil {
		return "error", true
	}
	return evaluate(env, ast, input), true
}

func environment(variables ...string) (*cel.Env, error) {
	options := []cel.EnvOption{ext.Strings()}
	for _, name := range variables {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	return cel.NewEnv(options...)
}

func generate(values map[string]map[string]any, count int, seed int64, out *json.Encoder) error {
	env, err := environment("event", "node")
	if err != nil {
		return err
	}
	g := &generator{random: rand.New(rand.NewSource(seed))}
	events := []string{"bare", "bare-soft", "mixed", "mixed2", "empty", "overr", "lines", "cafe", "lost", "lost", "lost", "lost", "multi", "multi", "multi"}
	nodes := []string{"nolabels", "cordoned", "gpu", "gpu", "gpu"}
	for i := 0; i < count; i++ {
		l := line{Event: g.pick(events...), Node: g.pick(nodes...), Expr: g.expression()}
		l.Want, l.Refused = opinion(env, l.Expr, map[string]any{"event": values[l.Event], "node": values[l.Node]})
		if err := out.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

func table(values map[string]map[string]any, path string, out *json.Encoder) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for _, row := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		fields := strings.Split(row, "\t")
		l := line{Event: fields[1], Expr: fields[2]}
		variable := "event"
		if name, isNode := strings.CutPrefix(fields[1], "node "); isNode {
			l.Event, l.Node, variable = "", name, "node"
		}
		env, err := environment(variable)
		if err != nil {
			return err
		}
		l.Want, l.Refused = opinion(env, l.Expr, map[string]any{variable: values[l.Event+l.Node]})
		if err := out.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

func run(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("usage: generate <values.json> <count> <seed> | table <values.json> <table.tsv>")
	}
	values, err := loadValues(args[1])
	if err != nil {
		return err
	}
	writer := bufio.NewWriter(os.Stdout)
	defer writer.Flush()
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	if args[0] == "table" {
		for _, path := range args[2:] {
			if err := table(values, path, encoder); err != nil {
				return err
			}
		}
		return nil
	}
	count, _ := strconv.Atoi(args[2])
	seed := time.Now().UnixNano()
	if len(args) > 3 {
		seed, _ = strconv.ParseInt(args[3], 10, 64)
	}
	return generate(values, count, seed, encoder)
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "secondopinion:", err)
		os.Exit(1)
	}
}

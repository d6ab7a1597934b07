// What Go's flag package makes of command lines. Reads {"program", "flags", "cases": [[word, ...], ...]} on standard input and
// writes the same with "cases": [{"args", "exit", "output", "values", "rest"}, ...]: the text for standard error and the exit code
// where parsing ended the program, else the value of every flag and the words behind them. See README.md.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
)

type definition struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Default string `json:"default"`
	Help    string `json:"help"`
}

type questions struct {
	Program string       `json:"program"`
	Flags   []definition `json:"flags"`
	Cases   [][]string   `json:"cases"`
}

type answer struct {
	Args   []string          `json:"args"`
	Exit   *int              `json:"exit,omitempty"`
	Output string            `json:"output,omitempty"`
	Values map[string]string `json:"values,omitempty"`
	Rest   []string          `json:"rest,omitempty"`
}

func define(set *flag.FlagSet, d definition) error {
	switch d.Kind {
	case "string":
		set.String(d.Name, d.Default, d.Help)
	case "bool":
		value, err := strconv.ParseBool(d.Default)
		if err != nil {
			return err
		}
		set.Bool(d.Name, value, d.Help)
	case "int":
		value, err := strconv.Atoi(d.Default)
		if err != nil {
			return err
		}
		set.Int(d.Name, value, d.Help)
	case "double":
		value, err := strconv.ParseFloat(d.Default, 64)
		if err != nil {
			return err
		}
		set.Float64(d.Name, value, d.Help)
	default:
		return fmt.Errorf("flag %s: kind %q is not string, bool, int or double", d.Name, d.Kind)
	}
	return nil
}

// The exit codes are those of flag.ExitOnError, which the programs use and which would end this one.
func ask(q questions, args []string) (answer, error) {
	var output strings.Builder
	set := flag.NewFlagSet(q.Program, flag.ContinueOnError)
	set.SetOutput(&output)
	for _, d := range q.Flags {
		if err := define(set, d); err != nil {
			return answer{}, err
		}
	}
	a := answer{Args: args}
	if err := set.Parse(args); err != nil {
		code := 2
		if errors.Is(err, flag.ErrHelp) {
			code = 0
		}
		a.Exit, a.Output = &code, output.String()
		return a, nil
	}
	a.Values = map[string]string{}
	set.VisitAll(func(f *flag.Flag) { a.Values[f.Name] = f.Value.String() })
	a.Rest = set.Args()
	return a, nil
}

func run(in io.Reader, out io.Writer) error {
	var q questions
	if err := json.NewDecoder(in).Decode(&q); err != nil {
		return err
	}
	recording := struct {
		Program string       `json:"program"`
		Flags   []definition `json:"flags"`
		Cases   []answer     `json:"cases"`
	}{Program: q.Program, Flags: q.Flags}
	for _, args := range q.Cases {
		a, err := ask(q, args)
		if err != nil {
			return err
		}
		recording.Cases = append(recording.Cases, a)
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	return encoder.Encode(recording)
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

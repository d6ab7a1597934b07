// Converts the specification's conformance files (textproto) into JSON lines that the C++ runner reads:
//
//	go run . <folder with *.textproto> > cases.jsonl
//
// One line a case; values in the canonical form that canonical.h describes.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"

	expr "cel.dev/expr"
	_ "cel.dev/expr/conformance/proto2"
	_ "cel.dev/expr/conformance/proto3"
	test "cel.dev/expr/conformance/test"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

type testCase struct {
	File      string         `json:"file"`
	Name      string         `json:"name"`
	Expr      string         `json:"expr"`
	Container string         `json:"container,omitempty"`
	Macros    bool           `json:"macros"`
	Check     bool           `json:"check"` // names must be known before evaluation
	Variables []string       `json:"variables"`
	Bindings  map[string]any `json:"bindings"`
	Want      string         `json:"want"` // canonical value, or "error"
	Matcher   string         `json:"matcher"`
}

// canonical writes a value so that equal values of one kind are equal texts.
func canonical(v *expr.Value) string {
	switch k := v.GetKind().(type) {
	case *expr.Value_NullValue:
		return "null"
	case *expr.Value_BoolValue:
		return fmt.Sprint(k.BoolValue)
	case *expr.Value_Int64Value:
		return fmt.Sprintf("int:%d", k.Int64Value)
	case *expr.Value_Uint64Value:
		return fmt.Sprintf("uint:%d", k.Uint64Value)
	case *expr.Value_DoubleValue:
		if math.IsNaN(k.DoubleValue) {
			return "double:nan"
		}
		return fmt.Sprintf("double:%016x", math.Float64bits(k.DoubleValue))
	case *expr.Value_StringValue:
		return "string:" + hex.EncodeToString([]byte(k.StringValue))
	case *expr.Value_BytesValue:
		return "bytes:" + hex.EncodeToString(k.BytesValue)
	case *expr.Value_TypeValue:
		return "type:" + k.TypeValue
	case *expr.Value_ListValue:
		items := []string{}
		for _, item := range k.ListValue.GetValues() {
			items = append(items, canonical(item))
		}
		return "[" + strings.Join(items, ",") + "]"
	case *expr.Value_MapValue:
		entries := []string{}
		for _, entry := range k.MapValue.GetEntries() {
			entries = append(entries, canonical(entry.GetKey())+"="+canonical(entry.GetValue()))
		}
		sort.Strings(entries)
		return "{" + strings.Join(entries, ",") + "}"
	case *expr.Value_ObjectValue:
		message, err := k.ObjectValue.UnmarshalNew()
		if err == nil {
			switch m := message.(type) {
			case *durationpb.Duration:
				return fmt.Sprintf("duration:%d", m.AsDuration().Nanoseconds())
			case *timestamppb.Timestamp:
				return fmt.Sprintf("timestamp:%d.%d", m.GetSeconds(), m.GetNanos())
			}
		}
		return "object:" + k.ObjectValue.GetTypeUrl()
	case *expr.Value_EnumValue:
		return "enum:" + k.EnumValue.GetType()
	}
	return "unknown"
}

// typed is a value as JSON that keeps the kind: {"int": "5"}.
func typed(v *expr.Value) any {
	switch k := v.GetKind().(type) {
	case *expr.Value_NullValue:
		return nil
	case *expr.Value_BoolValue:
		return map[string]any{"bool": k.BoolValue}
	case *expr.Value_Int64Value:
		return map[string]any{"int": fmt.Sprint(k.Int64Value)}
	case *expr.Value_Uint64Value:
		return map[string]any{"uint": fmt.Sprint(k.Uint64Value)}
	case *expr.Value_DoubleValue:
		return map[string]any{"double": fmt.Sprint(k.DoubleValue)}
	case *expr.Value_StringValue:
		return map[string]any{"string": k.StringValue}
	case *expr.Value_BytesValue:
		return map[string]any{"bytes": hex.EncodeToString(k.BytesValue)}
	case *expr.Value_TypeValue:
		return map[string]any{"type": k.TypeValue}
	case *expr.Value_ListValue:
		items := []any{}
		for _, item := range k.ListValue.GetValues() {
			items = append(items, typed(item))
		}
		return map[string]any{"list": items}
	case *expr.Value_MapValue:
		entries := []any{}
		for _, entry := range k.MapValue.GetEntries() {
			entries = append(entries, []any{typed(entry.GetKey()), typed(entry.GetValue())})
		}
		return map[string]any{"map": entries}
	}
	return map[string]any{"object": canonical(v)}
}

func convert(file, section string, t *test.SimpleTest) testCase {
	out := testCase{File: file, Name: section + "/" + t.GetName(), Expr: t.GetExpr(), Container: t.GetContainer(),
		Macros: !t.GetDisableMacros(), Check: !t.GetDisableCheck(), Variables: []string{}, Bindings: map[string]any{}}
	for _, decl := range t.GetTypeEnv() {
		if decl.GetIdent() != nil {
			out.Variables = append(out.Variables, decl.GetName())
		}
	}
	for name, value := range t.GetBindings() {
		out.Bindings[name] = typed(value.GetValue())
		out.Variables = append(out.Variables, name)
	}
	sort.Strings(out.Variables)
	switch m := t.GetResultMatcher().(type) {
	case *test.SimpleTest_Value:
		out.Matcher, out.Want = "value", canonical(m.Value)
	case *test.SimpleTest_EvalError, *test.SimpleTest_AnyEvalErrors:
		out.Matcher, out.Want = "error", "error"
	case *test.SimpleTest_TypedResult:
		out.Matcher, out.Want = "typed_result", canonical(m.TypedResult.GetResult())
	case nil:
		out.Matcher, out.Want = "value", "true"
	default:
		out.Matcher, out.Want = fmt.Sprintf("%T", m), "unknown"
	}
	return out
}

func run(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.textproto"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no *.textproto in %s", folder)
	}
	writer := bufio.NewWriter(os.Stdout)
	defer writer.Flush()
	encoder := json.NewEncoder(writer)
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		parsed := &test.SimpleTestFile{}
		if err := prototext.Unmarshal(text, parsed); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		file := strings.TrimSuffix(filepath.Base(path), ".textproto")
		for _, section := range parsed.GetSection() {
			for _, t := range section.GetTest() {
				if err := encoder.Encode(convert(file, section.GetName(), t)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: convert <folder with *.textproto>")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "convert:", err)
		os.Exit(1)
	}
}

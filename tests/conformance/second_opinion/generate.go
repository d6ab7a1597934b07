package main

import (
	"fmt"
	"math/rand"
	"regexp"
	"strings"
)

// generator makes expressions over `event` and `node`: mostly of fitting kinds, with enough misfits to reach the error paths.
type generator struct {
	random *rand.Rand
	locals []string // macro variables in scope
}

func (g *generator) pick(options ...string) string { return options[g.random.Intn(len(options))] }
func (g *generator) chance(percent int) bool       { return g.random.Intn(100) < percent }

func (g *generator) text() string {
	return g.pick("''", "'GPU'", "'79'", "'48'", "'gpu-a-017'", "'r07'", "'true'", "'8'", "'-12'", "'1.5'", "'café'", "'x'", "'-'", "'nvidia.com/gpu.count'")
}

func (g *generator) stringExpr(depth int) string {
	if depth <= 0 || g.chance(30) {
		return g.pick(g.text(), g.text(), "event.agent", "event.message", "event.nodeName", "event.checkName", "event.componentClass",
			"event.id", "event.metadata.rack", "event.metadata['site.example.com/row']", "event.errorCode[0]", "node.metadata.name",
			"node.metadata.labels['nvidia.com/gpu.count']", "node.metadata.labels['missing']", "event.entitiesImpacted[0].entityType", g.local("'none'"))
	}
	s := func() string { return g.stringExpr(depth - 1) }
	i := func() string { return g.intExpr(depth - 2) }
	switch g.random.Intn(16) {
	case 0:
		return fmt.Sprintf("(%s + %s)", s(), s())
	case 1:
		return fmt.Sprintf("string(%s)", g.anyScalar(depth-1))
	case 2:
		return fmt.Sprintf("%s.substring(%s)", s(), i())
	case 3:
		return fmt.Sprintf("%s.replace(%s, %s)", s(), g.text(), g.text())
	case 4:
		return s() + ".lowerAscii()"
	case 5:
		return s() + ".upperAscii()"
	case 6:
		return s() + ".trim()"
	case 7:
		return fmt.Sprintf("%s.charAt(%s)", s(), i())
	case 8:
		return fmt.Sprintf("%s.join(%s)", g.listExpr(depth-1), g.text())
	case 9:
		return s() + ".reverse()"
	case 10:
		return fmt.Sprintf("'%s|%s'.format([%s, %s])", "%s", g.pick("%s", "%d", "%x", "%.2f", "%e", "%b"), g.anyScalar(depth-1), g.anyScalar(depth-1))
	case 11:
		return fmt.Sprintf("strings.quote(%s)", s())
	case 12:
		return fmt.Sprintf("(%s ? %s : %s)", g.boolExpr(depth-1), s(), s())
	case 13:
		return fmt.Sprintf("%s.substring(%s, %s)", s(), i(), i())
	case 14:
		return fmt.Sprintf("%s.replace(%s, %s, %s)", s(), g.text(), g.text(), i())
	default:
		return fmt.Sprintf("%s[%s]", g.listExpr(depth-1), i())
	}
}

func (g *generator) local(otherwise string) string {
	if len(g.locals) == 0 {
		return otherwise
	}
	return g.pick(g.locals...)
}

func (g *generator) intExpr(depth int) string {
	if depth <= 0 || g.chance(35) {
		return g.pick("0", "1", "2", "-1", "3", "7", "24", "100", g.pick("9223372036854775807", "-9223372036854775808", "4", "6"), "size(event.errorCode)",
			"size(node.spec)", "size(event.message)", g.local("5"))
	}
	a, b := g.intExpr(depth-1), g.intExpr(depth-1)
	switch g.random.Intn(9) {
	case 0, 1, 2, 3:
		return fmt.Sprintf("(%s %s %s)", a, g.pick("+", "-", "*", "/", "%"), b)
	case 4:
		return fmt.Sprintf("int(%s)", g.anyScalar(depth-1))
	case 5:
		return fmt.Sprintf("%s.size()", g.pick(g.stringExpr(depth-1), g.listExpr(depth-1)))
	case 6:
		return fmt.Sprintf("%s.indexOf(%s)", g.stringExpr(depth-1), g.text())
	case 7:
		return fmt.Sprintf("-%s", g.pick("(1)", "(event.version)", "("+a+")"))
	default:
		return fmt.Sprintf("%s.lastIndexOf(%s, %s)", g.stringExpr(depth-1), g.text(), b)
	}
}

func (g *generator) doubleExpr(depth int) string {
	if depth <= 0 || g.chance(40) {
		return g.pick("0.0", "1.5", "-2.25", "1e300", "24.0", "event.recommendedAction", "event.version", "event.processingStrategy",
			"event.generatedTimestamp.seconds", "event.generatedTimestamp.nanos", "0.1")
	}
	switch g.random.Intn(3) {
	case 0:
		return fmt.Sprintf("double(%s)", g.anyScalar(depth-1))
	default:
		return fmt.Sprintf("(%s %s %s)", g.doubleExpr(depth-1), g.pick("+", "-", "*", "/"), g.doubleExpr(depth-1))
	}
}

func (g *generator) timeExpr(depth int) string {
	switch g.random.Intn(6) {
	case 0:
		return fmt.Sprintf("timestamp(%s)", g.pick("'2026-09-01T08:30:00.5Z'", "'1969-12-31T23:59:59Z'", "'2024-02-29T00:00:00Z'", "'nonsense'", "1767225600"))
	case 1:
		return fmt.Sprintf("duration(%s)", g.pick("'1h30m'", "'-1.5s'", "'10ms'", "'x'", "'0'", "'36h'"))
	case 2:
		return fmt.Sprintf("(timestamp('2026-03-01T00:00:00Z') - %s)", g.timeExpr(depth-1))
	case 3:
		return fmt.Sprintf("(timestamp('2026-03-01T00:00:00Z') + %s)", g.timeExpr(depth-1))
	case 4:
		return fmt.Sprintf("%s.%s(%s)", g.timeExpr(depth-1), g.pick("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours", "getMinutes", "getSeconds"),
			g.pick("", "", "'Europe/Berlin'", "'-02:30'", "'Nowhere/At-All'"))
	default:
		return "timestamp('2026-07-01T12:00:00Z')"
	}
}

func (g *generator) anyScalar(depth int) string {
	switch g.random.Intn(10) {
	case 0, 1, 2:
		return g.stringExpr(depth)
	case 3, 4:
		return g.intExpr(depth)
	case 5:
		return g.doubleExpr(depth)
	case 6:
		return g.boolExpr(depth)
	case 7:
		return g.timeExpr(depth)
	case 8:
		return g.pick("null", "1u", "24u", "b'ab'", "event.quarantineOverrides", "event.metadata", "event.nosuch", "node.spec.unschedulable", "uint("+g.intExpr(depth-1)+")")
	default:
		return g.local("'none'")
	}
}

func (g *generator) listExpr(depth int) string {
	if depth <= 0 || g.chance(35) {
		return g.pick("event.errorCode", "event.errorCode", "event.entitiesImpacted", "['48', '79']", "[]", "[1, 2, 3]", "[24, 25]", "node.spec.taints",
			"[1.0, 'x', null]")
	}
	switch g.random.Intn(6) {
	case 0:
		return fmt.Sprintf("[%s, %s]", g.anyScalar(depth-1), g.anyScalar(depth-1))
	case 1:
		return fmt.Sprintf("(%s + %s)", g.listExpr(depth-1), g.listExpr(depth-1))
	case 2:
		return g.macro("filter", g.listExpr(depth-1), func() string { return g.boolExpr(depth - 1) })
	case 3:
		return g.macro("map", g.listExpr(depth-1), func() string { return g.anyScalar(depth - 1) })
	case 4:
		return fmt.Sprintf("%s.split(%s)", g.stringExpr(depth-1), g.pick("'-'", "''", "'x'"))
	default:
		return fmt.Sprintf("%s.split(%s, %s)", g.stringExpr(depth-1), g.pick("'-'", "''"), g.pick("0", "1", "2", "-1"))
	}
}

func (g *generator) macro(name, over string, body func() string) string {
	variable := fmt.Sprintf("v%d", len(g.locals))
	g.locals = append(g.locals, variable)
	text := body()
	g.locals = g.locals[:len(g.locals)-1]
	return fmt.Sprintf("%s.%s(%s, %s)", over, name, variable, text)
}

func (g *generator) boolExpr(depth int) string {
	if depth <= 0 || g.chance(12) {
		return g.pick("event.isFatal", "event.isHealthy", "true", "false", "event.quarantineOverrides.skip", "has(event.metadata.rack)",
			"has(node.spec.unschedulable)", "has(event.errorCode)", "event.errorCode == null", "'79' in event.errorCode",
			"'rack' in event.metadata", "'nvidia.com/gpu.count' in node.metadata.labels", "node.spec.unschedulable", "has(event.nosuch)")
	}
	b := func() string { return g.boolExpr(depth - 1) }
	switch g.random.Intn(22) {
	case 0, 1, 2:
		return fmt.Sprintf("(%s && %s)", b(), b())
	case 3, 4, 5:
		return fmt.Sprintf("(%s || %s)", b(), b())
	case 6:
		return fmt.Sprintf("!(%s)", b()) // cel-go drops a pair of signs with the check for bool; CEL does not
	case 7:
		return fmt.Sprintf("(%s ? %s : %s)", b(), b(), b())
	case 8, 9:
		return fmt.Sprintf("%s %s %s", g.stringExpr(depth-1), g.pick("==", "!=", "<", "<=", ">", ">="), g.stringExpr(depth-1))
	case 10:
		return fmt.Sprintf("%s %s %s", g.intExpr(depth-1), g.pick("==", "!=", "<", "<=", ">", ">="), g.pick(g.intExpr(depth-1), g.doubleExpr(depth-1)))
	case 11:
		return fmt.Sprintf("%s %s %s", g.doubleExpr(depth-1), g.pick("==", "!=", "<", ">="), g.pick(g.intExpr(depth-1), g.doubleExpr(depth-1), "24", "24u"))
	case 12:
		return fmt.Sprintf("%s in %s", g.anyScalar(depth-1), g.listExpr(depth-1))
	case 13, 14, 15:
		return g.macro(g.pick("all", "exists", "exists_one"), g.pick(g.listExpr(depth-1), "node.metadata.labels", "event.metadata", "event.errorCode"),
			func() string { return g.boolExpr(depth - 1) })
	case 16:
		return fmt.Sprintf("%s.%s(%s)", g.stringExpr(depth-1), g.pick("startsWith", "endsWith", "contains"), g.stringExpr(depth-1))
	case 17:
		return fmt.Sprintf("%s.matches(%s)", g.stringExpr(depth-1), g.pick("'^gpu'", "'[0-9]+$'", "'(?i)fell OFF'", "'a.*b'", "''", "'x{2}'", "r'\\d+'"))
	case 18:
		return fmt.Sprintf("%s == %s", g.anyScalar(depth-1), g.anyScalar(depth-1))
	case 19:
		return fmt.Sprintf("type(%s) == %s", g.anyScalar(depth-1), g.pick("string", "int", "double", "bool", "list", "map", "null_type", "uint"))
	case 20:
		return fmt.Sprintf("%s == %s", g.listExpr(depth-1), g.listExpr(depth-1))
	default:
		return fmt.Sprintf("{%s: %s}[%s] == %s", g.pick("'a'", "1", "true", "2u"), g.anyScalar(depth-1), g.pick("'a'", "1", "1.0", "2", "true"), g.anyScalar(depth-1))
	}
}

// cel-go 0.31 answers "no such overload" to int(a['b']) where it answers 8 to int(a.b): a slip of its planner, not a rule of CEL.
var conversionOfIndex = regexp.MustCompile(`\b(int|uint|double|string|bool)\([^)]*\['`)

func (g *generator) expression() string {
	for {
		if text := g.anyExpression(); !conversionOfIndex.MatchString(text) {
			return text
		}
	}
}

func (g *generator) anyExpression() string {
	depth := 1 + g.random.Intn(5)
	var text string
	switch g.random.Intn(8) {
	case 0:
		text = g.stringExpr(depth)
	case 1:
		text = g.intExpr(depth)
	case 2:
		text = g.listExpr(depth)
	case 3:
		text = g.timeExpr(3)
	default:
		text = g.boolExpr(depth)
	}
	return strings.TrimSpace(text)
}

#include "cel/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "cel/count_allocations.h"
#include "cel/document.h"

namespace nodeward::cel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Environment rules() {
  Environment environment;
  environment.variable("event").variable("node").extension(Extension::kStrings);
  return environment;
}

std::string refusal(const std::string& text, Wanted wanted = Wanted::kBool) {
  const auto program = rules().compile(text, wanted);
  return program ? "accepted" : program.error().to_text();
}

const char* const kEvent = R"({"agent": "gpu-health-monitor", "isFatal": true, "errorCode": ["79"], "recommendedAction": 24,
    "message": "fell off the bus", "metadata": {"rack": "r07"}})";
const char* const kNode = R"({"metadata": {"name": "gpu-07", "labels": {"nvidia.com/gpu.count": "8"}}, "spec": {}})";

std::string value_of(const std::string& text, const Environment& environment = rules()) {
  const auto program = environment.compile(text, Wanted::kAny);
  if (!program) return "refused: " + program.error().message;
  const Document event = *to_document(*parse_json(kEvent), Numbers::kDoubles);
  const Document node = *to_document(*parse_json(kNode), Numbers::kWhole);
  Scratch scratch;
  return to_cel_text(program->evaluate(std::array{event.root(), node.root()}, scratch));
}

TEST(Compile, AnErrorShowsItsPlace) {
  EXPECT_EQ(refusal("evnt.isFatal"), "1:1: unknown name 'evnt' (known here: event, node)\n  evnt.isFatal\n  ^");
  EXPECT_EQ(refusal("event.isFatal &&\n  event.agent.startWith('x')"),
            "2:15: unknown function 'startWith'\n    event.agent.startWith('x')\n                ^");
  EXPECT_THAT(refusal("event.message == '\u00e9\u00e9' && nod.x"), HasSubstr("1:26: unknown name 'nod'"))
      << "columns count characters";
}

TEST(Compile, AnErrorInALongLineShowsThePartAroundIt) {
  const std::string shown = refusal("event.message == '" + std::string(5000, 'y') + "' && evnt.x");
  EXPECT_LT(shown.size(), 400U);
  EXPECT_THAT(shown, HasSubstr("1:5024: unknown name 'evnt'"));
}

TEST(Compile, BadInputIsRefusedWithItsReason) {
  EXPECT_THAT(refusal(""), HasSubstr("1:1: the expression is empty"));
  EXPECT_THAT(refusal("  // nothing"), HasSubstr("the expression is empty"));
  EXPECT_THAT(refusal("(event.isFatal"), HasSubstr("1:15: the expression ends where ')' should come"));
  EXPECT_THAT(refusal("event.isFatal)"), HasSubstr("1:14: unexpected ')'"));
  EXPECT_THAT(refusal("event.agent == 'gpu"), HasSubstr("1:16: string without an end"));
  EXPECT_THAT(refusal("event.agent = 'gpu'"), HasSubstr("1:13: unexpected '=': equality is written =="));
  EXPECT_THAT(refusal("event.isFatal and true"), HasSubstr("1:15: unexpected 'and'"));
  EXPECT_THAT(refusal(R"(event.agent == '\d')"), HasSubstr("1:17: no such escape"));
  EXPECT_THAT(refusal("event.message.matches('a(?=b)')"), HasSubstr("1:23: the regular expression is refused"));
  EXPECT_THAT(refusal("event.agent.size(1)"), HasSubstr("'size' does not take 1 argument"));
  EXPECT_THAT(refusal("startsWith(event.agent, 'a')"), HasSubstr("'startsWith' is called as x.startsWith()"));
  EXPECT_THAT(refusal("event.errorCode.exists(1, true)"), HasSubstr("plain name"));
  EXPECT_THAT(refusal("has(event)"), HasSubstr("has() needs a member selection"));
  EXPECT_THAT(refusal("9223372036854775808 == 1"), HasSubstr("1:1: the number does not fit a signed 64-bit int"));
  EXPECT_THAT(refusal("for == 1"), HasSubstr("'for' is a reserved word"));
  EXPECT_THAT(refusal("Thing{a: 1} == 1"), HasSubstr("message types are not supported: 'Thing'"));
  EXPECT_THAT(refusal(std::string("event.agent == '\xff'")), HasSubstr("not UTF-8"));
}

TEST(Compile, AResultThatCannotBeBoolIsRefusedAndOneThatMayBeIsNot) {
  EXPECT_THAT(refusal("'a'"), HasSubstr("the expression yields string, where bool is needed"));
  EXPECT_THAT(refusal("event.recommendedAction + 1"), HasSubstr("where bool is needed"));
  EXPECT_THAT(refusal("event.isFatal ? 'yes' : 'no'"), HasSubstr("yields string"));
  EXPECT_THAT(refusal("event.errorCode.map(c, c)"), HasSubstr("yields list"));
  EXPECT_EQ(refusal("event.isFatal ? 'yes' : true"), "accepted");
  EXPECT_EQ(refusal("event.agent"), "accepted");
  EXPECT_EQ(value_of("event.agent"), "\"gpu-health-monitor\"");
  EXPECT_THAT(refusal("node.metadata.name == 'x'", Wanted::kInt), HasSubstr("yields bool, where int is needed"));
  EXPECT_EQ(refusal("int(node.metadata.labels['nvidia.com/gpu.count'])", Wanted::kInt), "accepted");
}

TEST(Evaluate, AResultOfAnotherKindIsAnError) {
  const auto program = rules().compile("event", Wanted::kBool);
  Scratch scratch;
  EXPECT_EQ(to_cel_text(program->evaluate(std::array{Value::string("x"), Value()}, scratch)),
            "error: expression did not return a boolean");
}

TEST(Evaluate, NumbersFollowTheSpecification) {
  EXPECT_EQ(value_of("int('8')"), "8");
  EXPECT_EQ(value_of("int(node.metadata.labels['nvidia.com/gpu.count']) + 1"), "9");
  EXPECT_EQ(value_of("event.recommendedAction"), "24.0");
  EXPECT_EQ(value_of("event.recommendedAction in [24, 25]"), "true");
  EXPECT_EQ(value_of("event.recommendedAction + 1"), "error: no such overload");
  EXPECT_EQ(value_of("9223372036854775807 + 1"), "error: integer overflow");
  EXPECT_EQ(value_of("--(-9223372036854775808)"), "error: integer overflow");
  EXPECT_EQ(value_of("-9223372036854775808 / -1"), "error: integer overflow");
  EXPECT_EQ(value_of("1u - 2u"), "error: integer overflow");
  EXPECT_EQ(value_of("7 % 0"), "error: modulus by zero");
  EXPECT_EQ(value_of("1.0 / 0.0"), "double('+Inf')");
  EXPECT_EQ(value_of("1 == 1.0 && 1u == 1 && {1: 'a'}[1.0] == 'a'"), "true");
}

TEST(Evaluate, OneFunctionMoreIsOneCall) {
  Environment counts;
  counts.variable("node").variable("resourceSlices");
  counts.function("sum", {.result = kinds(Kind::kInt)}, [](Call& call, std::span<const Value> args) {
    if (!args[0].is(Kind::kList)) return no_overload();
    std::int64_t total = 0;
    for (const Value item : args[0].items()) {
      if (!item.is(Kind::kInt)) return no_overload();
      if (__builtin_add_overflow(total, item.as_int(), &total)) return Value::error("integer overflow");
    }
    return call.charge(args[0].items().size()) ? Value::integer(total) : Call::exhausted();
  });
  EXPECT_EQ(value_of("sum([1, 2, 3])", counts), "6");
  EXPECT_EQ(value_of("sum([])", counts), "0");
  EXPECT_EQ(value_of("sum([1, '2'])", counts), "error: no such overload");
  EXPECT_THAT(value_of("[1].sum()", counts), HasSubstr("'sum' is called as sum(x)"));
  EXPECT_THAT(value_of("sum([1], [2])", counts), HasSubstr("'sum' does not take 2 arguments"));
  EXPECT_THAT(value_of("'a'.trim() == 'a'", counts), HasSubstr("unknown function 'trim'"))
      << "the strings extension was not asked for";
}

TEST(Evaluate, RulesWithoutBuildingDoNotTouchTheHeapOnceWarm) {
  const Document event = *to_document(*parse_json(kEvent), Numbers::kDoubles);
  const Document node = *to_document(*parse_json(kNode), Numbers::kWhole);
  const std::array values{event.root(), node.root()};
  for (const char* const text :
       {"event.agent == 'gpu-health-monitor' && event.isFatal && event.recommendedAction in [24, 25]",
        "event.errorCode != null && event.errorCode.exists(c, c in ['48', '79', '95'])",
        "!('managed' in node.metadata.labels && node.metadata.labels['managed'] == 'false')", "event.message.matches('off|out')",
        "event.agent.startsWith('gpu-') || event.agent.endsWith('x')", "size(event.message) > 3 ? event.isFatal : false"}) {
    const auto program = rules().compile(text, Wanted::kBool);
    ASSERT_TRUE(program) << text;
    Scratch scratch;
    EXPECT_EQ(to_cel_text(program->evaluate(values, scratch)), "true") << text;
    const std::size_t before = allocations();
    for (int i = 0; i < 10; ++i) program->evaluate(values, scratch);
    EXPECT_EQ(allocations(), before) << text;
  }
}

TEST(Evaluate, OneProgramServesManyThreads) {
  const auto program = rules().compile("event.errorCode.map(c, c + '!').exists(c, c == '79!')", Wanted::kBool);
  const Document event = *to_document(*parse_json(kEvent), Numbers::kDoubles);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      Scratch scratch;
      for (int round = 0; round < 500; ++round) {
        EXPECT_TRUE(program->evaluate(std::array{event.root(), Value()}, scratch).is_true());
      }
    });
  }
}

std::vector<std::string> touches(const std::string& text) {
  const auto program = rules().compile(text, Wanted::kAny);
  std::vector<std::string> result;
  for (const Touch& touch : program->touches()) {
    std::string line = touch.variable;
    for (const std::string& step : touch.path) line += "|" + step;
    result.push_back(line + (touch.presence_only ? "?" : ""));
  }
  return result;
}

TEST(Touches, AreTheMembersReachedByLiteralKeys) {
  EXPECT_THAT(touches("event.agent == 'x' && event.isFatal"), ElementsAre("event|agent", "event|isFatal"));
  EXPECT_THAT(touches("node.metadata.labels['a.b/c'] == node.metadata.labels.d"),
              ElementsAre("node|metadata|labels|a.b/c", "node|metadata|labels|d"));
  EXPECT_THAT(touches("'k' in node.metadata.labels && node.metadata.labels['k'] == 'v'"),
              ElementsAre("node|metadata|labels|k", "node|metadata|labels|k?"));
  EXPECT_THAT(touches("has(node.spec.taints) && node.spec.taints.exists(t, t.key == 'x')"),
              ElementsAre("node|spec|taints", "node|spec|taints?"));
}

TEST(Touches, AMapTouchedOtherThanByLiteralKeyIsWhole) {
  EXPECT_THAT(touches("node.metadata.labels.all(k, k != 'x')"), ElementsAre("node|metadata|labels"));
  EXPECT_THAT(touches("node.metadata.labels[event.metadata.rack] == 'x'"),
              ElementsAre("event|metadata|rack", "node|metadata|labels"));
  EXPECT_THAT(touches("event.agent in node.metadata.labels"), ElementsAre("event|agent", "node|metadata|labels"));
  EXPECT_THAT(touches("size(node.metadata.annotations) == 0"), ElementsAre("node|metadata|annotations"));
  EXPECT_THAT(touches("(event.isFatal ? node.metadata : node.spec).name"),
              ElementsAre("event|isFatal", "node|metadata", "node|spec"));
  EXPECT_THAT(touches("[node].exists(n, n.metadata.name == 'x')"), ElementsAre("node"));
  EXPECT_THAT(touches("[1].exists(node, node == 1)"), ElementsAre()) << "a macro's variable hides the environment's";
}

TEST(Explain, ShowsEachPartAndWhatWasNotReached) {
  const auto program = rules().compile("event.isFatal || event.nosuch == 1",
                                       {.wanted = Wanted::kBool, .container = {}, .traced = true});
  const Document event = *to_document(*parse_json(kEvent), Numbers::kDoubles);
  Scratch scratch;
  std::vector<Part> parts;
  EXPECT_TRUE(program->explain(std::array{event.root(), Value()}, scratch, parts).is_true());
  std::vector<std::string> seen;
  for (const Part& part : parts)
    seen.push_back(std::string(part.text) + (part.evaluated ? " = " + to_cel_text(part.value).substr(0, 9) : " -"));
  EXPECT_EQ(seen[0], "event.isFatal || event.nosuch == 1 = true");
  EXPECT_EQ(seen[1], "event.isFatal = true");
  EXPECT_THAT(seen, testing::Contains("event.nosuch == 1 -"));
}

}  // namespace
}  // namespace nodeward::cel

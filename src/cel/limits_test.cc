// The limits that docs/cel.md states, on a thread with a stack of 1 MiB.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <chrono>
#include <functional>
#include <string>

#include "cel/environment.h"

namespace nodeward::cel {
namespace {

using testing::HasSubstr;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kStack = 16 << 20;   // sanitizers widen every frame
#else
constexpr std::size_t kStack = 1 << 20;
#endif

void on_small_stack(std::function<void()> work) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStack), 0);
  pthread_t thread;
  const auto run = [](void* given) -> void* {
    (*static_cast<std::function<void()>*>(given))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &work), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

std::string repeated(std::string_view part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

// The value as text, or the refusal.
std::string run(const std::string& expression) {
  Environment environment;
  environment.all_extensions();
  const auto program = environment.compile(expression, Wanted::kAny);
  if (!program) return "refused: " + program.error().message;
  Scratch scratch;
  return to_cel_text(program->evaluate({}, scratch));
}

struct Nesting {
  std::string open, middle, close;
};

TEST(Limits, TwoHundredFortyNineLevelsOfEachBracketPassAndOneMoreIsRefused) {
  on_small_stack([] {
    for (const Nesting& nesting : {Nesting{"(", "1", ")"},
                                   {"[", "1", "]"},
                                   {"{1: ", "1", "}"},
                                   {"-(", "1", ")"},
                                   {"dyn(", "1", ")"},
                                   {"(true ? ", "1", " : 2)"},
                                   {"[1].map(x, ", "1", ")"},
                                   {"[1].all(x, ", "true", ")"},
                                   {"(1 + ", "1", ")"},
                                   {"(false || ", "true", ")"},
                                   {"[1][", "0", " - 1]"},
                                   {"cel.bind(x, ", "1", ", x)"},
                                   {"[1].all(x, x == 1 && !!", "true", ")"}}) {
      const auto nested = [&](std::size_t levels) {
        return repeated(nesting.open, levels) + nesting.middle + repeated(nesting.close, levels);
      };
      EXPECT_THAT(run(nested(249)), testing::Not(HasSubstr("refused"))) << nesting.open;
      EXPECT_THAT(run(nested(250)), HasSubstr("more than 249 levels of nesting")) << nesting.open;
    }
  });
}

TEST(Limits, DeepValuesAreComparedAndPrintedOnASmallStack) {
  on_small_stack([] {
    const std::string deep = repeated("[", 249) + repeated("]", 249);
    EXPECT_EQ(run(deep + " == " + deep), "true");
    EXPECT_EQ(run(deep), deep);
    const std::string maps = repeated("{'k': ", 240) + "[1].map(x, x)" + repeated("}", 240);
    EXPECT_EQ(run("'%s'.format([" + maps + "]).size() > 0"), "true");
  });
}

TEST(Limits, ChainsAreNoNesting) {
  on_small_stack([] {
    EXPECT_EQ(run(repeated("false || ", 9000) + "true"), "true");
    EXPECT_EQ(run(repeated("true && ", 9000) + "false"), "false");
    EXPECT_EQ(run(repeated("1 + ", 20'000) + "1"), "20001");
    EXPECT_EQ(run(repeated("!", 99'000) + "true"), "true");
    EXPECT_EQ(run(repeated("-", 99'999) + "1"), "-1");
    EXPECT_EQ(run(repeated("false ? 1 : ", 8000) + "2"), "2");
    EXPECT_EQ(run("[" + repeated("1,", 40'000) + "1].size()"), "40001");
  });
}

TEST(Limits, MemberStepsAreCountedApart) {
  on_small_stack([] {
    EXPECT_EQ(run("' a '" + repeated(".trim()", 999)), "\"a\"");
    EXPECT_THAT(run("' a '" + repeated(".trim()", 1000)), HasSubstr("more than 1000 nested parts"));
    EXPECT_THAT(run("x" + repeated(".y", 40'000)), HasSubstr("more than 1000 nested parts"));
    // Brackets and steps together stay under the same bound.
    EXPECT_THAT(run(repeated("(' a '", 200) + repeated(".trim()", 200) + repeated(").trim().trim().trim()", 200)),
                HasSubstr("refused"));
  });
}

TEST(Limits, LongPathsAreCompiledInTime) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(run(fmt::format("[{{}}][0]{}", repeated(".abc", 990))), HasSubstr("no such key"));
  EXPECT_THAT(run(fmt::format("[{{}}].map(x, x{})", repeated("['abc']", 990))), HasSubstr("no such key"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

TEST(Limits, HundredThousandCharactersAreTheMost) {
  EXPECT_EQ(run("'" + std::string(99'990, 'y') + "'.size()").substr(0, 5), "99990");
  EXPECT_THAT(run("'" + std::string(100'000, 'y') + "'"), HasSubstr("longer than 100000 characters"));
  EXPECT_EQ(run("'" + repeated("\u00e9", 99'000) + "'.size()"), "99000") << "characters, not bytes";
  EXPECT_THAT(run(std::string(1 << 20, '(')), HasSubstr("longer than 100000 characters"));
  EXPECT_THAT(run(std::string(99'999, '(')), HasSubstr("more than 249 levels"));
}

TEST(Limits, APatternIsParsedOnASmallStack) {
  on_small_stack([] {
    EXPECT_THAT(run(fmt::format("''.matches('{}{}')", repeated("(", 45'000), repeated(")", 45'000))),
                testing::AnyOf("true", HasSubstr("refused")));
    EXPECT_THAT(run(fmt::format("''.matches('{}{}')", repeated("(a|", 900), repeated(")", 900))),
                testing::AnyOf("true", HasSubstr("refused")));
    EXPECT_THAT(run("''.matches('((a{100}){100}){100}')"), HasSubstr("the regular expression is refused"));
  });
}

TEST(Limits, AnEvaluationHasACostBound) {
  const std::string ten = "[1,2,3,4,5,6,7,8,9,10]";
  std::string loops = "true";
  for (int i = 0; i < 10; ++i) loops = fmt::format("{}.all(v{}, {})", ten, i, loops);
  EXPECT_EQ(run(loops), "error: the evaluation costs too much");
  // Doubling a text in each step: 2^40 bytes when nothing stops it.
  std::string text = "'0123456789'";
  for (int i = 0; i < 40; ++i) text = fmt::format("cel.bind(x, {}, x + x)", text);
  EXPECT_EQ(run(text), "error: the evaluation costs too much");
  // Comparing large values again and again.
  const std::string list = "[" + repeated("'0123456789',", 3000) + "'']";
  const std::string loop = "[1,2,3,4,5,6,7,8,9,10].map(x, " + ten + ".map(y, " + ten;
  EXPECT_EQ(run("cel.bind(l, " + list + ", " + loop + ".all(z, l + [z] == l + [z]))))"), "error: the evaluation costs too much");
  EXPECT_EQ(run("cel.bind(l, " + list + ", " + loop + ".all(z, [l] == [l]))))"), "error: the evaluation costs too much");
  EXPECT_EQ(run("'%s'.format(['x']) + ''.replace('', 'y')"), "\"xy\"");
}

// Sixty doublings share their parts: cheap to build, never to be walked in whole.
TEST(Limits, SharedPartsAreNotWalkedForEver) {
  const std::string shared = "[[1]]" + repeated(".map(x, [x, x])", 60);
  for (const std::string& use : {shared + " == " + shared, shared + "[0] in " + shared, "'%s'.format(" + shared + ")"}) {
    EXPECT_EQ(run(use), "error: the evaluation costs too much");
  }
  EXPECT_THAT(run("{}[" + shared + "]"), HasSubstr("no such key"));
  EXPECT_LT(run(shared).size(), std::size_t{17} << 20);
}

TEST(Limits, DeepValuesDoNotOverflowTheStack) {
  const auto deep = [](int maps) { return "[1]" + repeated(".map(x, " + repeated("[", 48) + "x" + repeated("]", 48) + ")", maps); };
  on_small_stack([&] {
    EXPECT_EQ(run(deep(400) + " == " + deep(400)), "error: the evaluation costs too much");
    EXPECT_EQ(run("'%s'.format([" + deep(800) + "])"), "error: the evaluation costs too much");
    EXPECT_THAT(run(deep(800)), HasSubstr("[..."));
    EXPECT_EQ(run(deep(10) + " == " + deep(10)), "true");
  });
}

}  // namespace
}  // namespace nodeward::cel

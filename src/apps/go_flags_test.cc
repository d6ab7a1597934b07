#include "apps/go_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>

#include "apps/flag_table.h"
#include "base/json.h"
#include "base/text.h"

namespace nodeward::apps {
namespace {

using testing::ElementsAre;
using Strings = std::vector<std::string>;

const std::string kData = std::string(NW_SOURCE_DIR) + "/tests/data";

FlagKind kind_from(const std::string& word) {
  return word == "bool"     ? FlagKind::kBool
         : word == "int"    ? FlagKind::kInt
         : word == "double" ? FlagKind::kDouble
                            : FlagKind::kString;
}

// What Go's flag package said; see tests/goflags/README.md.
struct Recording {
  Json json;
  std::vector<GoFlag> flags;

  Recording() : json(parse_json(read_file(kData + "/goflags.json").value()).value()) {
    for (const Json& flag : json["flags"])
      flags.push_back({flag["name"], kind_from(flag["kind"]), flag["default"], flag["help"]});
  }
  // `args` outlives the answer.
  tl::expected<GoFlags, FlagExit> ask(const Strings& args) const {
    return read_go_flags(json["program"].get<std::string>(), flags, args);
  }
};

// The values as the programs get them: CLI11 stores the words in typed variables.
struct Values {
  std::map<std::string, std::string> strings;
  std::map<std::string, bool> bools;
  std::map<std::string, std::int64_t> ints;
  std::map<std::string, double> doubles;

  Values(const std::vector<GoFlag>& flags, const Strings& words) {
    CLI::App app;
    for (const GoFlag& flag : flags) {
      switch (flag.kind) {
        case FlagKind::kString: app.add_option("--" + flag.name, strings[flag.name] = flag.default_text); break;
        case FlagKind::kBool: app.add_flag("--" + flag.name, bools[flag.name] = flag.default_text == "true"); break;
        case FlagKind::kInt: app.add_option("--" + flag.name, ints[flag.name] = parse_int(flag.default_text).value()); break;
        case FlagKind::kDouble: app.add_option("--" + flag.name, doubles[flag.name] = std::stod(flag.default_text)); break;
      }
    }
    app.parse(Strings(words.rbegin(), words.rend()));
  }

  void expect(const GoFlag& flag, const std::string& go_says) const {
    SCOPED_TRACE(flag.name);
    switch (flag.kind) {
      case FlagKind::kString: EXPECT_EQ(strings.at(flag.name), go_says); break;
      case FlagKind::kBool: EXPECT_EQ(bools.at(flag.name), go_says == "true"); break;
      case FlagKind::kInt: EXPECT_EQ(ints.at(flag.name), parse_int(go_says)); break;
      case FlagKind::kDouble: {
        const double ours = doubles.at(flag.name), gos = std::strtod(go_says.c_str(), nullptr);
        EXPECT_TRUE(ours == gos || (std::isnan(ours) && std::isnan(gos))) << ours << " for " << go_says;
      }
    }
  }
};

TEST(GoFlags, EveryRecordedCommandLineMeansWhatItMeansToGo) {
  const Recording recording;
  ASSERT_GE(recording.json["cases"].size(), 60U);
  for (const Json& row : recording.json["cases"]) {
    SCOPED_TRACE(to_text(row["args"]));
    const auto args = row["args"].get<Strings>();
    const auto ours = recording.ask(args);
    ASSERT_EQ(ours.has_value(), row.contains("values")) << (ours ? testing::PrintToString(ours->words) : ours.error().text);
    if (!ours) {
      EXPECT_EQ(ours.error().exit_code, row["exit"].get<int>());
      EXPECT_EQ(ours.error().text, row["output"].get<std::string>());
      continue;
    }
    EXPECT_EQ(Strings(ours->rest.begin(), ours->rest.end()), row.value("rest", Strings{}));
    const Values values(recording.flags, ours->words);
    for (const GoFlag& flag : recording.flags) values.expect(flag, row["values"][flag.name]);
  }
}

TEST(GoFlags, TheRecordingIsWhatGoSaysToday) {
  const std::string command = "cd '" + std::string(NW_SOURCE_DIR) + "/tests/goflags' && GOFLAGS= GOPROXY=off go run . < '" +
                              kData + "/goflags_cases.json'";
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string said;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) said.push_back(static_cast<char>(c));
  ASSERT_EQ(pclose(pipe), 0) << "go (1.19 or newer) must be on the PATH: " << command;
  EXPECT_EQ(said, read_file(kData + "/goflags.json").value()) << "make it anew as tests/goflags/README.md says";
}

TEST(GoFlags, GivesOneWordPerFlagAndNumbersInBaseTen) {
  const Recording recording;
  const Strings args = {"-n", "0x10", "-v", "-n=0b11", "-kata-label=", "rest"};
  EXPECT_THAT(recording.ask(args).value().words, ElementsAre("--kata-label", "", "--n=3", "--v=true"));
}

// Go's package ignores them: here it would be --print-only that nobody reads.
TEST(FlagTable, AWordBehindTheFlagsIsRefusedWithAllThatItWouldSwallow) {
  const auto refusal = [](const Strings& args) {
    bool leader_elect = true, print_only = false;
    std::string kubeconfig;
    FlagTable table("labeler");
    table.add("leader-elect", leader_elect, "true", "");
    table.add("print-only", print_only, "false", "");
    table.add("kubeconfig", kubeconfig, "", "");
    const auto exit = table.read(args);
    return exit ? fmt::format("{}: {}", exit->exit_code, exit->text) : "";
  };
  constexpr auto kIgnored = "is no flag; it and what follows would be ignored";
  EXPECT_EQ(refusal({"--leader-elect", "false", "--print-only"}),
            fmt::format("2: \"false\" {} (a switch's value is written with \"=\": --leader-elect=false)\n", kIgnored));
  EXPECT_EQ(refusal({"-leader-elect", "0"}),
            fmt::format("2: \"0\" {} (a switch's value is written with \"=\": -leader-elect=0)\n", kIgnored));
  EXPECT_EQ(refusal({"--kubeconfig", "a", "b"}), fmt::format("2: \"b\" {}\n", kIgnored));
  EXPECT_EQ(refusal({"--print-only", "now"}), fmt::format("2: \"now\" {}\n", kIgnored));
  EXPECT_EQ(refusal({"--", "--print-only"}), fmt::format("2: \"--print-only\" {}\n", kIgnored));
  EXPECT_EQ(refusal({""}), fmt::format("2: \"\" {}\n", kIgnored));
  EXPECT_EQ(refusal({"-"}), fmt::format("2: \"-\" {}\n", kIgnored));
  for (const Strings& fine : {Strings{}, Strings{"--"}, Strings{"--leader-elect=false", "--print-only", "--"}})
    EXPECT_EQ(refusal(fine), "") << testing::PrintToString(fine);
}

TEST(FlagTable, ANumberThatGoTakesAndWeCannotHoldIsTheNearestWeCan) {
  int workers = 16, burst = 10;
  FlagTable table("labeler");
  table.add("workers", workers, "16", "");
  table.add("burst", burst, "10", "");
  EXPECT_FALSE(table.read(Strings{"--workers", "99999999999", "--burst=-99999999999"}));
  EXPECT_EQ(workers, std::numeric_limits<int>::max());
  EXPECT_EQ(burst, std::numeric_limits<int>::min());
}

}  // namespace
}  // namespace nodeward::apps

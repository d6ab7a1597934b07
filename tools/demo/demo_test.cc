// The demo as its reader runs it: the whole program, with a real cluster beside it that KUBECONFIG names.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <regex>
#include <thread>
#include <vector>

#include "api/real_cluster.h"
#include "base/text.h"

namespace nodeward::demo {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

}  // namespace
}  // namespace nodeward::demo

namespace nodeward::api {

std::unique_ptr<Cluster> make_shared_cluster() { return std::make_unique<RealCluster>(); }

}  // namespace nodeward::api

namespace nodeward::demo {
namespace {

constexpr const char* kDemo = NW_BINARY_DIR "/tools/demo/demo";
constexpr const char* kMark = "NODEWARD_DEMO_TEST";

struct Ended {
  int exit_code = -1;
  std::string output;  // both streams
};

Ended run_command(const std::string& command) {
  Ended run;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  char part[256];
  while (std::fgets(part, sizeof part, pipe) != nullptr) run.output += part;
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
  return run;
}
Ended run_demo(const std::string& arguments = "") { return run_command(std::string(kDemo) + " " + arguments); }

// "  gpu-a-002  dcgm.version   4.x  -> 3.x  why" without the repeated blanks; the node's name is filled in.
std::vector<std::string> rows_of(const std::string& output) {
  static const std::regex kRow(R"(^  (\S+)? +([a-z.-]+) +(\S+) *-> (\S+) +(.+)$)");
  std::vector<std::string> rows;
  std::string node;
  std::smatch match;
  for (const std::string& line : split(output, '\n')) {
    if (!std::regex_match(line, match, kRow)) continue;
    if (match[1].matched) node = match[1];
    rows.push_back(node + " " + match[2].str() + " " + match[3].str() + " -> " + match[4].str() + ": " + match[5].str());
  }
  return rows;
}

// What fault-quarantine made of each event, in order.
std::vector<std::string> decisions_of(const std::string& output) {
  static const std::regex kDecision(R"(^     (\S.*, \d+ PATCH)$)");
  std::vector<std::string> decisions;
  std::smatch match;
  for (const std::string& line : split(output, '\n')) {
    if (std::regex_match(line, match, kDecision)) decisions.push_back(match[1]);
  }
  return decisions;
}

// The command lines of the programs that carry `mark` in their environment: what the demo started, itself included.
std::vector<std::string> programs_with(const std::string& mark) {
  std::vector<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    if (read_file(entry.path() / "environ").value_or("").find(mark) == std::string::npos) continue;
    found.push_back(read_file(entry.path() / "cmdline").value_or(""));
  }
  return found;
}

// The folder of the server among them; empty while there is none.
fs::path cluster_folder(const std::vector<std::string>& command_lines) {
  static const std::regex kFolder(R"(--tls-cert-file=(\S+)/server\.pem)");
  std::smatch match;
  for (const std::string& line : command_lines) {
    if (std::regex_search(line, match, kFolder)) return match[1].str();
  }
  return {};
}

bool await(const std::function<bool()>& done) {
  const MonoTime deadline = Clock::real().now() + 60s;
  while (!done()) {
    if (Clock::real().now() > deadline) return false;
    std::this_thread::sleep_for(20ms);  // other processes: no clock to fake
  }
  return true;
}

using Demo = api::ClusterTest;

TEST_F(Demo, ShowsWhatChangedAndCountsOnePatchPerNodeAndTouchesNoOtherCluster) {
  const api::Counters before = admin().counters();
  ::setenv("KUBECONFIG", cluster().kubeconfig().c_str(), 1);
  const Ended run = run_demo();
  ::unsetenv("KUBECONFIG");

  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(rows_of(run.output),
              testing::ElementsAre("gpu-a-001 dcgm-bootstrap-completed - -> true: the node has a DCGM version",
                                   "gpu-a-002 dcgm-bootstrap-completed - -> true: the node has a DCGM version",
                                   "gpu-a-002 dcgm.version 4.x -> 3.x: pod nvidia-dcgm-bb222",
                                   "gpu-a-002 driver.installed true -> -: pod nvidia-driver-daemonset-bb222 is not Ready",
                                   "gpu-a-003 dcgm.version 4.x -> -: pod nvidia-dcgm-cc333 is not Ready",
                                   "gpu-b-001 dcgm.version 4.x -> -: managed=false",           //
                                   "gpu-b-001 driver.installed true -> -: managed=false",      //
                                   "gpu-b-001 kata.enabled false -> -: managed=false",         //
                                   "gpu-b-002 dcgm-bootstrap-completed - -> true: the node has a DCGM version",
                                   "gpu-b-002 driver.installed true -> -: no driver pod",
                                   "cpu-c-001 kata.enabled - -> false: no kata label"));
  EXPECT_THAT(run.output, testing::ContainsRegex("  PATCH nodes +6 +0\n  GET nodes +0 +6\n  PUT nodes +0 +6\n"
                                                 "  WATCH nodes +1\n  WATCH pods +3\n"));
  EXPECT_THAT(run.output, HasSubstr("/bin/labeler --kubeconfig ~/.kube/config --print-only\n"));
  EXPECT_THAT(decisions_of(run.output),
              testing::ElementsAre("quarantine by gpu-fatal and xid-hard-codes, 1 PATCH", "merge by gpu-degraded, 1 PATCH",
                                   "partial-recovery, 1 PATCH", "release, 1 PATCH"));
  EXPECT_THAT(run.output, testing::ContainsRegex("  cordoned +no +-> yes\n"));
  EXPECT_THAT(run.output, testing::ContainsRegex("  cordoned +yes +-> no\n"));
  EXPECT_THAT(run.output, testing::ContainsRegex("  taint gpu.example.com/soft PreferNoSchedule +degraded +-> -\n"));
  EXPECT_THAT(run.output, testing::ContainsRegex("  PATCH nodes +4 +0\n  GET nodes +0 +4\n  PUT nodes +0 +4\n"
                                                 "  WATCH nodes +1\n\n"));
  EXPECT_THAT(run.output, Not(HasSubstr("\"level\"")));  // the log goes to a file
  const std::string readme = read_file(NW_SOURCE_DIR "/README.md").value();
  for (const std::string& line : split(run.output, '\n')) {
    static const std::regex kDiffers("Ready after .*|.*/bin/(labeler|fault-quarantine) .*|.*cordon-timestamp .*");
    const bool differs = std::regex_match(line, kDiffers);
    EXPECT_TRUE(differs || readme.find(line + "\n") != std::string::npos) << "not in the README: " << line;
  }
  const api::Counters asked = admin().counters() - before;
  EXPECT_THAT(asked.text(), Not(testing::ContainsRegex(" (nodes|pods)"))) << "asked of the cluster that KUBECONFIG names";
}

TEST_F(Demo, ShowsTheSameOnARealServer) {
  const auto told = [](const std::string& output) { return output.substr(output.find("What it changed")); };
  const auto neutral = [](const std::string& text) { return std::regex_replace(text, std::regex("20[0-9-]+T[0-9-]+Z"), "TIME"); };
  const Ended real = run_demo("--real");
  EXPECT_EQ(real.exit_code, 0) << real.output;
  EXPECT_EQ(neutral(told(real.output)), neutral(told(run_demo().output)));
}

TEST_F(Demo, AFleetIsLabelledAndATenthOfItTakenOutOfService) {
  const Ended run = run_demo("--nodes 500");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, testing::ContainsRegex("labelled +\\[#+\\] +500 of 500"));
  EXPECT_THAT(run.output, testing::ContainsRegex("quarantined +\\[#+\\] +50 of 50"));
  EXPECT_THAT(run.output, HasSubstr("a node: 1.00 PATCH, 0.00 GET, 0.00 PUT"));
}

TEST_F(Demo, LeavesNothingBehindWhenInterrupted) {
  const std::string mark = std::string(kMark) + "=" + std::to_string(::getpid());
  ::setenv(kMark, std::to_string(::getpid()).c_str(), 1);
  api::Child demo({kDemo, "--real"}, cluster().folder() / "demo.log");
  ::unsetenv(kMark);
  fs::path folder;
  ASSERT_TRUE(await([&] { return !(folder = cluster_folder(programs_with(mark))).empty(); }));
  ASSERT_TRUE(fs::exists(folder));
  ::kill(demo.pid(), SIGINT);
  EXPECT_TRUE(await([&] { return !demo.running(); }));
  EXPECT_THAT(programs_with(mark), IsEmpty());
  EXPECT_FALSE(fs::exists(folder));
}

TEST(DemoFailure, ANumberOfNodesThatIsNoneIsSaidBeforeAnythingIsBuilt) {
  for (const std::string nodes : {"abc", "0", "100001", "1e3", ""}) {
    const Ended run = run_command(fmt::format("'{}/scripts/demo.sh' --nodes '{}'", NW_SOURCE_DIR, nodes));
    EXPECT_EQ(run.exit_code, 2) << nodes;
    EXPECT_EQ(run.output, fmt::format("NODES={}: a number from 1 to 100000\n", nodes));
  }
  EXPECT_EQ(run_demo("--nodes abc").exit_code, 2);
}

TEST(DemoFailure, IsOneSentenceAndAnExitCode) {
  const std::string programs = std::getenv("NODEWARD_TESTBED") == nullptr ? "" : std::getenv("NODEWARD_TESTBED");
  ::setenv("NODEWARD_TESTBED", "/nowhere", 1);
  const Ended run = run_demo("--real");
  EXPECT_EQ(run_demo().exit_code, 0) << "the simulated one needs neither";
  programs.empty() ? ::unsetenv("NODEWARD_TESTBED") : ::setenv("NODEWARD_TESTBED", programs.c_str(), 1);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.output, HasSubstr("\ndemo: the real API server of the tests is not there"));
}

}  // namespace
}  // namespace nodeward::demo

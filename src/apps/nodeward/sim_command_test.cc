// `nodeward sim` as a process: what it says when it serves, and what when it cannot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/clock.h"
#include "base/text.h"

namespace nodeward::apps {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr const char* kProgram = NW_BINARY_DIR "/bin/nodeward";
const std::string kNodes = NW_SOURCE_DIR "/tests/data/examples/nodes.json";

struct Ended {
  int exit_code = -1;
  std::string output;
};

// For what ends by itself; given up on after 10 s.
Ended run(const std::string& arguments) {
  Ended ended;
  FILE* pipe = ::popen((std::string("timeout 10 ") + kProgram + " sim " + arguments + " 2>&1").c_str(), "r");
  char part[512];
  while (std::fgets(part, sizeof part, pipe) != nullptr) ended.output += part;
  ended.exit_code = WEXITSTATUS(::pclose(pipe));
  return ended;
}

class SimCommand : public testing::Test {
 protected:
  SimCommand() { fs::create_directories(folder_); }
  ~SimCommand() override { fs::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  const fs::path folder_ = fs::temp_directory_path() / ("nodeward-sim-test-" + std::to_string(::getpid()));
};

TEST_F(SimCommand, SaysThatItIsASimulationAndHowToReachIt) {
  const fs::path kubeconfig = folder_ / "kubeconfig";
  FILE* pipe = ::popen((std::string("exec ") + kProgram + " sim --load " + kNodes +
                        " --nodes 100 --pods-per-node 2 --write-kubeconfig " + kubeconfig.string() + " 2>&1 & echo $!; wait")
                           .c_str(),
                       "r");
  char line[512];
  ASSERT_NE(std::fgets(line, sizeof line, pipe), nullptr);
  const pid_t pid = std::stoi(line);
  std::string output;
  for (int i = 0; i < 3 && std::fgets(line, sizeof line, pipe) != nullptr; ++i) output += line;
  EXPECT_THAT(output, AllOf(ContainsRegex("a simulated cluster, no real one, on https://127.0.0.1:[0-9]+: 100 nodes, 200 pods"),
                            HasSubstr("kubectl --kubeconfig " + kubeconfig.string() + " get nodes")));
  EXPECT_THAT(read_file(kubeconfig).value_or(""), HasSubstr("server: https://127.0.0.1:"));
  EXPECT_EQ(fs::status(kubeconfig).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  ::kill(pid, SIGTERM);
  ::pclose(pipe);
}

TEST_F(SimCommand, RefusesWhatIsNoKubernetesJsonWithOneLine) {
  struct Case {
    std::string name, text, wanted;
  };
  for (const Case& one :
       {Case{"a.json", "{", "a.json"}, Case{"b.json", "[]", "b.json"},
        Case{"c.json", R"({"kind":"Sheep","apiVersion":"v1"})", "Sheep"},
        Case{"d.json", R"({"kind":"List","items":[{"kind":"Node","apiVersion":"v1","metadata":{"name":"A_b"}}]})", "A_b"}}) {
    const Ended ended = run("--load " + file(one.name, one.text));
    EXPECT_EQ(ended.exit_code, 1) << one.text;
    EXPECT_THAT(ended.output, AllOf(HasSubstr("nodeward sim: "), HasSubstr(one.wanted)));
    EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 1) << ended.output;
  }
  EXPECT_THAT(run("--load /nowhere/x.json").output, AllOf(HasSubstr("/nowhere/x.json"), HasSubstr("No such file")));
}

TEST_F(SimCommand, NamesAPortInUseAndAnAddressThatIsNone) {
  EXPECT_THAT(run("--listen 127.0.0.1").output,
              HasSubstr("--listen: \"127.0.0.1\" is no address; it takes one like 127.0.0.1:8001"));
  EXPECT_THAT(run("--listen 127.0.0.1:70000").output, HasSubstr("--listen"));
  const Ended elsewhere = run("--listen 192.0.2.1:0 --write-kubeconfig " + (folder_ / "elsewhere").string());
  EXPECT_EQ(elsewhere.exit_code, 1);
  EXPECT_THAT(elsewhere.output, HasSubstr("192.0.2.1"));
  EXPECT_EQ(run("--nodes 10").exit_code, 1) << "nothing to multiply";
}

TEST_F(SimCommand, NumbersThatAreNoneAreUsageErrors) {
  for (const char* arguments : {"--nodes -1", "--nodes 1e9", "--nodes 1000001", "--pods-per-node -1", "--heartbeats nan",
                                "--heartbeats inf", "--heartbeats -1", "--heartbeats 1e12", "--heartbeats x"}) {
    const Ended ended = run("--load " + kNodes + " " + arguments);
    EXPECT_EQ(ended.exit_code, 2) << arguments;
    EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 1) << ended.output;
    EXPECT_LT(ended.output.size(), 200U) << ended.output;
  }
}

TEST_F(SimCommand, AFileThatIsNestedTooDeepIsRefused) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  const Ended ended = run("--load " + file("deep.json", R"({"kind":"Node","apiVersion":"v1","x":)" + deep + "}"));
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.output, HasSubstr("deep.json: nested deeper than 1000 levels"));
}

TEST_F(SimCommand, ASignalEndsAStartThatDoesNotGetOn) {
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execl(kProgram, kProgram, "sim", "--load", pipe.c_str(), nullptr);
    ::_exit(127);
  }
  std::ofstream writer(pipe);                     // opens once the other side reads
  ::kill(pid, SIGTERM);
  int status = 0;
  for (int i = 0; i < 100 && ::waitpid(pid, &status, WNOHANG) == 0; ++i) ::usleep(50'000);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

// What it says until it is told to end.
std::string said_by(const std::string& arguments) {
  FILE* pipe = ::popen((std::string("timeout -s TERM 0.5 ") + kProgram + " sim " + arguments + " 2>&1").c_str(), "r");
  std::string output;
  char line[512];
  while (std::fgets(line, sizeof line, pipe) != nullptr) output += line;
  ::pclose(pipe);
  return output;
}

TEST_F(SimCommand, PromisesNoKubectlInClearText) {
  EXPECT_THAT(said_by("--plain --write-kubeconfig " + (folder_ / "plain").string()),
              AllOf(HasSubstr("kubectl needs TLS"), testing::Not(HasSubstr("kubectl --kubeconfig"))));
}

TEST_F(SimCommand, AnAddressThatOthersReachHasATokenMadeAtRandomOrIsRefused) {
  const std::string kubeconfig = (folder_ / "open").string();
  const auto token = [&](const std::string& address) {
    const std::string said = said_by("--listen " + address + " --write-kubeconfig " + kubeconfig);
    EXPECT_EQ(said.find("other machines; who has the token in " + kubeconfig) != std::string::npos, !address.starts_with("127"))
        << said;
    const std::string text = read_file(kubeconfig).value_or("");
    const std::string found = text.substr(text.find("token: "));
    EXPECT_THAT(said, testing::Not(HasSubstr(found.substr(7, 20))));
    return found;
  };
  const std::string first = token("0.0.0.0:0"), second = token("0.0.0.0:0");
  EXPECT_THAT(first, ContainsRegex("token: \"[0-9a-f]{32}\"\n$"));
  EXPECT_NE(first, second);
  EXPECT_THAT(token("127.0.0.2:0"), HasSubstr("sim-token"));
  for (const char* address : {"0.0.0.0:0", "[::]:0"}) {
    const Ended refused = run(std::string("--listen ") + address);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.output, ContainsRegex("^nodeward sim: --listen: .* say with --write-kubeconfig FILE where to put it\n$"));
  }
}

}  // namespace
}  // namespace nodeward::apps

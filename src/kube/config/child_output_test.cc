#include "kube/config/child_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/text.h"
#include "kube/config/temp_folder.h"

namespace nodeward::kube {
namespace {

constexpr ChildLimits kNoLimit{.time = 24h};    // then a child that is waited for in vain hangs the test

Result<ChildOutput> run_shell(const std::string& script, const ChildLimits& limits = kNoLimit, const std::stop_token& stop = {}) {
  return run_child({.arguments = {"sh", "-c", script}, .environment = {"PATH=/usr/bin:/bin", "GIVEN=given"}}, limits, stop);
}

bool has_children() { return waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

TEST(ChildOutput, KeepsWhatAProgramPrintsAndHowItEnded) {
  const auto good = run_shell("echo $GIVEN$HOME; echo oh no >&2");
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->exit_code, 0);
  EXPECT_EQ(good->output, "given\n");
  EXPECT_EQ(good->complaint, "oh no\n");
  EXPECT_EQ(run_shell("exit 3")->exit_code, 3);
  EXPECT_EQ(run_shell("kill -TERM $$")->exit_code, 128 + SIGTERM);
  EXPECT_FALSE(has_children());
}

TEST(ChildOutput, ReadsMoreThanAPipeHolds) {
  const auto good = run_shell("head -c 900000 /dev/zero; head -c 900000 /dev/zero >&2");
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->output.size(), 900000u);
  EXPECT_EQ(good->complaint.size(), 4096u);
}

TEST(ChildOutput, GivesTheChildNothingOfOurs) {
  signal(SIGPIPE, SIG_IGN);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  const int open = dup(1);
  const auto child = run_shell(
      "grep -E 'Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd; cat; ps -o pgid= -p $$ | tr -d ' '; echo $$");
  close(open);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  signal(SIGPIPE, SIG_DFL);
  ASSERT_TRUE(child);
  // The high half of the ignored ones is glibc's own (signals 32 and 33); 3 is the folder that ls reads.
  EXPECT_THAT(child->output, testing::ContainsRegex("SigBlk:\t0+\nSigIgn:\t[0-9]{8}[08]0000000\n0\n1\n2\n3\n"));
  const auto lines = split(child->output, '\n');
  EXPECT_EQ(lines[lines.size() - 2], lines[lines.size() - 3]) << "no process group of its own: " << child->output;
}

TEST(ChildOutput, KillsAChildThatHangsOrPrintsTooMuch) {
  const auto hangs = run_shell("sleep 1000", {.time = 1ms});
  ASSERT_FALSE(hangs);
  EXPECT_EQ(hangs.error().code, ErrorCode::kTimeout);
  EXPECT_EQ(hangs.error().message, "was not done within 0.001 s");
  const auto floods = run_shell("yes", {.output = 64 * 1024});
  ASSERT_FALSE(floods);
  EXPECT_EQ(floods.error().message, "printed more than 64 KiB");
  EXPECT_FALSE(has_children());
}

TEST(ChildOutput, EndsWithAStopAndKillsAllThatTheChildStarted) {
  TempFolder folder;
  const std::string note = (folder.path() / "pid").string();
  std::stop_source stop;
  std::jthread other([&] {
    while (!std::filesystem::exists(note)) std::this_thread::yield();
    stop.request_stop();
  });
  const auto stopped = run_shell("sleep 1000 & echo $! > " + note + ".new; mv " + note + ".new " + note + "; wait", kNoLimit,
                                 stop.get_token());
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled) << stopped.error().message;
  EXPECT_FALSE(has_children());
  const auto grandchild = static_cast<pid_t>(std::stol(read_file(note).value()));
  // Its parent is gone; whoever inherited it may take a moment to reap it.
  const auto gone = [&] {
    const auto status = read_file("/proc/" + std::to_string(grandchild) + "/stat");
    return !status || status->find(") Z ") != std::string::npos || status->empty();
  };
  while (!gone()) std::this_thread::yield();
}

TEST(ChildOutput, DoesNotWaitForWhatAChildLeavesBehind) {
  const auto child = run_shell("sleep 1000 & echo $!");
  ASSERT_TRUE(child) << child.error().message;
  EXPECT_EQ(kill(static_cast<pid_t>(std::stol(child->output)), SIGKILL), 0) << "was waited for, or killed";
}

// Whatever cannot be opened, the error comes at once and says so; nothing is left running or waited for.
TEST(ChildOutput, FailsWithAReasonWhenFileDescriptorsRunOut) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const int lowest = dup(1);
  close(lowest);
  int failed = 0;
  for (int spare = 0; spare < 8; ++spare) {
    const rlimit few{.rlim_cur = static_cast<rlim_t>(lowest + spare), .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    const auto child = run_shell("echo good");
    setrlimit(RLIMIT_NOFILE, &before);
    if (child) continue;
    ++failed;
    EXPECT_THAT(child.error().message, testing::HasSubstr("Too many open files")) << spare;
  }
  EXPECT_GE(failed, 4);
  EXPECT_FALSE(has_children());
}

TEST(ChildOutput, SaysWhyAProgramCannotBeStarted) {
  TempFolder folder;
  const auto start = [](const std::string& program) { return run_child({{program}, {}}, {}, {}).error(); };
  EXPECT_EQ(start("no-such-program-here").code, ErrorCode::kNotFound);
  EXPECT_EQ(start("/no/such/program").code, ErrorCode::kNotFound);
  EXPECT_EQ(start(folder.write("plain", "text")).message, "cannot be started: Permission denied");
}

}  // namespace
}  // namespace nodeward::kube

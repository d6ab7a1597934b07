#include "kube/config/child_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace nodeward::kube {
namespace {

constexpr std::size_t kMostComplaint = 4096;
// How often it is looked whether the child has ended; that it prints, or closes what it prints to, is seen at once. A pidfd would
// tell, but kernels before 5.3 and some sandboxes have none.
constexpr Duration kLookEvery = 10ms;

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  void reset() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

struct Pipe {
  Fd read, write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail(ErrorCode::kUnavailable, fmt::format("no pipe: {}", std::strerror(errno)));
  fcntl(ends[0], F_SETFL, O_NONBLOCK);  // our end only: the child may expect to block
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

Result<pid_t> spawn(const ChildCommand& command, int output, int complaint) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, complaint, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);  // ours blocks all signals
  posix_spawnattr_setsigdefault(&attributes, &all);  // ours ignores SIGPIPE
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int reason = posix_spawnp(&pid, command.arguments[0].c_str(), &files, &attributes, pointers_to(command.arguments).data(),
                                  pointers_to(command.environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (reason == ENOENT) return fail(ErrorCode::kNotFound, "was not found");
  if (reason != 0) return fail(ErrorCode::kInvalid, fmt::format("cannot be started: {}", std::strerror(reason)));
  return pid;
}

// Reads what is there, up to the most that a pipe can hold: a child that never stops printing must not keep us from the clock.
// False: this was the end.
bool drain(int fd, std::string& into, std::size_t most) {
  std::array<char, 16384> bytes;
  for (std::size_t left = 1024 * 1024; left > 0; left -= bytes.size()) {
    const ssize_t count = read(fd, bytes.data(), bytes.size());
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return false;
    into.append(bytes.data(), std::min(static_cast<std::size_t>(count), most - std::min(most, into.size())));
  }
  return true;
}

// It stays to be reaped.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

// Until the child has ended; what it left behind and still holds the pipes is not waited for.
Result<> collect(pid_t pid, const Fd& output, const Fd& complaint, const ChildLimits& limits, const std::stop_token& stop,
                 ChildOutput& into) {
  const MonoTime deadline = Clock::real().now() + limits.time;
  std::array<pollfd, 2> waits = {{{output.get(), POLLIN, 0}, {complaint.get(), POLLIN, 0}}};
  while (true) {
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "was stopped");
    if (Clock::real().now() >= deadline)
      return fail(ErrorCode::kTimeout, fmt::format("was not done within {} s", limits.time / 1.0s));
    poll(waits.data(), waits.size(), static_cast<int>(kLookEvery / 1ms));
    const bool ended = has_ended(pid);
    if (waits[0].fd >= 0 && !drain(output.get(), into.output, limits.output + 1)) waits[0].fd = -1;
    if (waits[1].fd >= 0 && !drain(complaint.get(), into.complaint, kMostComplaint)) waits[1].fd = -1;
    if (into.output.size() > limits.output)
      return fail(ErrorCode::kInvalid, fmt::format("printed more than {} KiB", limits.output / 1024));
    if (ended) return {};
  }
}

}  // namespace

Result<ChildOutput> run_child(const ChildCommand& command, const ChildLimits& limits, const std::stop_token& stop) {
  NW_TRY_ASSIGN(Pipe output, make_pipe());
  NW_TRY_ASSIGN(Pipe complaint, make_pipe());
  NW_TRY_ASSIGN(const pid_t pid, spawn(command, output.write.get(), complaint.write.get()));
  output.write.reset();
  complaint.write.reset();
  ChildOutput result;
  const auto collected = collect(pid, output.read, complaint.read, limits, stop, result);
  if (!collected) kill(-pid, SIGKILL);  // not reaped yet, so the number is still its own
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  NW_TRY(collected);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace nodeward::kube

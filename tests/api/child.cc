#include "api/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>

namespace nodeward::api {
namespace {

// Between fork and exec only async-signal-safe calls are allowed: other threads may have held any lock.
[[noreturn]] void become(char* const* arguments, const char* log, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent was gone before the line above
  ::setpgid(0, 0);                          // Ctrl-C is for the test binary, which then takes this one along
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int in = ::open("/dev/null", O_RDONLY);
  const int out = ::open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ::execv(arguments[0], arguments);
  ::_exit(127);
}

}  // namespace

Child::Child(const std::vector<std::string>& arguments, const std::filesystem::path& log) {
  if (::gettid() != ::getpid()) throw std::logic_error("start " + arguments[0] + ": only from the main thread (see child.h)");
  std::vector<char*> raw;
  for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("start " + arguments[0] + ": fork failed");
  if (pid_ == 0) become(raw.data(), log.c_str(), parent);
}

bool Child::running() {
  int status = 0;
  if (pid_ != 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) reap(status);
  return pid_ != 0;
}

void Child::reap(int wait_status) {
  pid_ = 0;
  exit_code_ = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

void Child::kill() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  reap(status);
}

void Child::stop(Duration patience) {
  if (pid_ == 0) return;
  ::kill(pid_, SIGTERM);
  const auto deadline = Clock::real().now() + patience;
  while (running() && Clock::real().now() < deadline) std::this_thread::sleep_for(5ms);  // a real process: no clock to fake
  kill();
}

}  // namespace nodeward::api

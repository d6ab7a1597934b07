#include "demo/supervise.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "api/real_cluster.h"

namespace nodeward::demo {
namespace {

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&set, number);
  return set;
}

[[noreturn]] void become_worker(const std::function<int()>& work, pid_t supervisor) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(1);  // it was gone before the line above
  std::exit(work());
}

}  // namespace

int supervise(const std::function<int()>& work) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // what a killed worker leaves behind becomes ours, so that its end can be awaited
  ::signal(SIGCHLD, SIG_DFL);
  const sigset_t set = watched_signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);  // in the worker too: Ctrl-C is for the supervisor
  const pid_t supervisor = ::getpid();
  const pid_t worker = ::fork();
  if (worker < 0) return 1;
  if (worker == 0) become_worker(work, supervisor);

  int number = SIGCHLD;
  int status = 0;
  while (number == SIGCHLD && ::waitpid(worker, &status, WNOHANG) == 0) ::sigwait(&set, &number);
  if (number != SIGCHLD) {
    ::kill(worker, SIGKILL);
    ::waitpid(worker, &status, 0);
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  while (::waitpid(-1, nullptr, 0) > 0) {  // the kernel has killed them with the worker
  }
  const api::TempFolder sweep;  // a new one removes those whose process was killed
  return 128 + (number == SIGCHLD ? WTERMSIG(status) : number);
}

}  // namespace nodeward::demo

// A program run beside the test: started, asked to stop, killed, never outliving the test binary. One thread.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace nodeward::api {

class Child {
 public:
  Child() = default;
  // `arguments[0]` is the program's path; both outputs are appended to `log`. Throws std::runtime_error.
  // Main thread only: the kernel kills the child (PR_SET_PDEATHSIG) when the *thread* that started it ends.
  Child(const std::vector<std::string>& arguments, const std::filesystem::path& log);
  ~Child() { kill(); }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, 0)), exit_code_(other.exit_code_) {}
  Child& operator=(Child&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(exit_code_, other.exit_code_);
    return *this;
  }

  bool running();
  pid_t pid() const { return pid_; }
  // As a shell would say it: 128 + the signal that ended it. nullopt: still running.
  std::optional<int> exit_code() const { return exit_code_; }
  void kill();                        // SIGKILL, and waits
  void stop(Duration patience);       // SIGTERM, and waits; SIGKILL when it takes longer than `patience`

 private:
  void reap(int wait_status);
  pid_t pid_ = 0;                     // 0: none, or gone and reaped
  std::optional<int> exit_code_;
};

}  // namespace nodeward::api

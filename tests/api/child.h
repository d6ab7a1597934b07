// A program run beside the test: started, asked to stop, killed, never outliving the test binary. One thread.
#pragma once

#include <sys/types.h>

#include <filesystem>
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
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  Child& operator=(Child&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }

  bool running();
  pid_t pid() const { return pid_; }
  void kill();                        // SIGKILL, and waits
  void stop(Duration patience);       // SIGTERM, and waits; SIGKILL when it takes longer than `patience`

 private:
  pid_t pid_ = 0;                     // 0: none, or gone and reaped
};

}  // namespace nodeward::api

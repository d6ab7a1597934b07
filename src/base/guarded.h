// Guarded<T>: shared state that can be reached only under its lock. with(f) runs f(T&) while holding it; f must not block,
// call out of the process, or take another Guarded.
#pragma once

#include <mutex>
#include <utility>

namespace nodeward {

template <class T>
class Guarded {
 public:
  Guarded() = default;
  explicit Guarded(T value) : value_(std::move(value)) {}

  template <class F>
  auto with(F&& use) -> decltype(auto) {
    const std::lock_guard lock(mutex_);
    return std::forward<F>(use)(value_);
  }
  template <class F>
  auto with(F&& use) const -> decltype(auto) {
    const std::lock_guard lock(mutex_);
    return std::forward<F>(use)(std::as_const(value_));
  }

 private:
  mutable std::mutex mutex_;
  T value_{};
};

}  // namespace nodeward

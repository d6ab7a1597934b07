// std::visit with one lambda per alternative: one that is forgotten does not compile.
#pragma once

namespace nodeward {

template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;      // clang 16 needs to be told

}  // namespace nodeward

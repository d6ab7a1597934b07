#include "base/backoff.h"

#include <algorithm>
#include <cmath>

namespace nodeward {
namespace {

// splitmix64: one well-mixed draw from a counter; statistics need no more than that here.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

Duration backoff_delay(const BackoffShape& shape, int failures, std::uint64_t seed) {
  const double nominal = std::min(static_cast<double>(shape.most.count()),
                                  static_cast<double>(shape.first.count()) * std::pow(shape.factor, std::max(0, failures - 1)));
  const double unit = static_cast<double>(mix(seed + static_cast<std::uint64_t>(failures)) >> 11) * 0x1.0p-53;   // [0, 1)
  const double drawn = nominal * (1.0 - shape.jitter + 2.0 * shape.jitter * unit);
  return Duration{static_cast<std::int64_t>(std::min(drawn, static_cast<double>(shape.most.count())))};
}

}  // namespace nodeward

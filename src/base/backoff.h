// Exponential back-off with jitter: how long to wait before try n. Holds no clock and waits for nothing.
// One thread, or under the owner's lock.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace nodeward {

struct BackoffShape {
  Duration first = 200ms;
  Duration most = 60s;
  double factor = 2.0;
  double jitter =
      0.2;    // each wait is drawn from [1 - jitter, 1 + jitter] times its nominal length, so nodes do not march in step
};

// The wait before the try that follows `failures` failures in a row (1 = the first). `seed` picks the jitter: the same seed
// and count give the same wait.
Duration backoff_delay(const BackoffShape& shape, int failures, std::uint64_t seed);

}  // namespace nodeward

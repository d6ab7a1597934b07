// Signals are for the main thread: every other thread of this folder starts with block_signals(). Private to net.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace nodeward::net {

inline void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace nodeward::net

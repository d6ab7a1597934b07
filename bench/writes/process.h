// What the kernel says of another process. Throws std::runtime_error when it is not there.
#pragma once

#include <sys/types.h>

namespace nodeward::bench {

double cpu_seconds(pid_t pid);    // user and system, all threads, in steps of 10 ms

long switches(pid_t pid);         // times a thread of it gave up a core or lost it; of the threads it has now

struct Memory {
  double rss_mb = 0;              // VmRSS, 10^6 bytes
  double anonymous_mb = 0;        // RssAnon: its own, not the pages of its program and libraries
  double peak_mb = 0;             // VmHWM
};
Memory memory_of(pid_t pid);

}  // namespace nodeward::bench

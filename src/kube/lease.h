// Leader election on a coordination.k8s.io/v1 Lease: of several copies of a program one holds the lease and may write. Whoever
// writes asks held() just before each send (fencing): it goes by our own clock (CLOCK_BOOTTIME) and turns false before anybody
// else may take the lease, also when this process was stopped, or its machine asleep, in between. Other copies' clocks do not
// matter: a lease has run out when its record did not change for its own duration, as seen here.
// Source: coordination/v1 LeaseSpec; the timing of client-go's leaderelection.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/guarded.h"
#include "base/json.h"
#include "kube/client.h"

namespace nodeward::kube {

// ---- the decision, pure ------------------------------------------------------------------------------------------------
struct LeaseRecord {
  std::string holder;                 // empty: free
  std::int64_t duration_s = 0;        // as the holder wrote it
  std::string renewed;                // its time, only ever compared for equality
  std::int64_t transitions = 0;
  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};
struct LeaseSighting {
  LeaseRecord record;
  MonoTime since;                     // when this record was first seen, on our clock
};
// May `identity` write its name into the lease?
bool can_take(const LeaseSighting& seen, const std::string& identity, Duration own_duration, MonoTime now);
LeaseRecord lease_record(const Json& lease);

// ---- the election ------------------------------------------------------------------------------------------------------
struct LeaseOptions {
  std::string name_space;
  std::string name;
  std::string identity;               // of this copy: unlike any other's
  Duration duration = 15s;            // others wait this long for a holder that is silent
  Duration renew_deadline = 10s;      // the holder stops writing this long after its last renewal that succeeded was sent
  Duration retry_period = 2s;
  // On the thread of run(). True twice in a row: it had run out in between, and came back with the renewal under way.
  std::function<void(bool held)> on_change = [](bool) {};
};
// kInvalid unless 0 < retry < deadline < duration, whole seconds in `duration`, and both names are given.
Result<> validate(const LeaseOptions& options);

class Lease {
 public:
  Lease(Client& client, LeaseOptions options, Clock& clock);

  // Takes, keeps and takes back the lease until stopped. kDenied: from the start we have no right to it, and so must not write at
  // all; a right that is gone later (a server that has just started may say so for a moment) is trouble like any other.
  Result<> run(const std::stop_token& stop);
  // One round of run(): how long until the next.
  Result<Duration> step(const std::stop_token& stop);
  // After run() and after the last write of this process: lets another copy take it at once. Best effort.
  void release(const std::stop_token& stop);

  // Any thread.
  bool held() const;
  // Taken less than `span` ago: a write that the last holder had sent may still land.
  bool taken_within(Duration span) const;
  std::string holder() const;  // as last seen; empty: nobody, or not read yet

 private:
  Result<bool> take_or_renew(const std::stop_token& stop);
  Result<bool> look(const std::stop_token& stop);
  Result<bool> write(Json lease, const std::stop_token& stop);
  Result<bool> create(const std::stop_token& stop);
  Result<bool> written(const net::Response& answer, MonoTime sent);
  Json with_us(Json lease) const;
  void observe(const Json& lease);
  void note();
  void note_standby();
  Duration until_next_try() const;
  std::string path() const;
  Error denied(const Error& error) const;

  Client& client_;
  const LeaseOptions options_;
  Clock& clock_;
  std::optional<Json> ours_;  // the lease as our last write left it; run()'s thread, and after it
  std::optional<LeaseSighting> seen_;
  bool noted_ = false;  // what on_change was told last
  bool stands_by_ = false;  // said so
  bool answered_ = false;  // the server has let us read or write it
  bool in_trouble_ = false;  // said so
  std::atomic<MonoTime> valid_until_{MonoTime::min()};
  std::atomic<MonoTime> taken_{MonoTime::min()};
  Guarded<std::string> holder_;
};

}  // namespace nodeward::kube

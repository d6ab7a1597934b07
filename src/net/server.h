// The small HTTP server for /healthz, /readyz and /metrics (labeler spec, section 2.3): plain HTTP, 16 threads, one answer per
// connection, 5 s to read or to write and 2 s for a silent client. So idle scrapers cannot starve the probes, and a stop takes
// 5 s at most. A header line ends at 8 KiB. cpp-httplib stays behind this header.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/error.h"

namespace nodeward::net {

struct Page {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
};

class Server {
 public:
  // Listens before it returns: a port in use is an Error that names it (kUnavailable). Port 0 takes a free one; address "::" is
  // every address, IPv4 too, "0.0.0.0" those of IPv4. Handlers run on the server's threads and must be quick; GET and HEAD only,
  // another method is 405, another path 404.
  static Result<std::unique_ptr<Server>> listen(const std::string& address, int port,
                                                std::map<std::string, std::function<Page()>> pages);
  virtual ~Server() = default;  // stops, waits for answers under way (at most 5 s)
  virtual int port() const = 0;
};

}  // namespace nodeward::net

// The small HTTP server for /healthz, /readyz and /metrics (labeler spec, section 2.3): plain HTTP on all addresses, read and
// write 10 s, keep-alive 5 s, 16 threads so that idle scrapers cannot starve the probes, headers up to 1 MiB, 5 s to finish at
// the end. cpp-httplib stays behind this header.
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
  // Listens before it returns: a port in use is an Error that names it (kUnavailable). Port 0 takes a free one. Handlers run
  // on the server's threads and must be quick; GET and HEAD only, another method is 405, another path 404.
  static Result<std::unique_ptr<Server>> listen(const std::string& address, int port,
                                                std::map<std::string, std::function<Page()>> pages);
  virtual ~Server() = default;            // stops, waits for answers under way (at most 5 s)
  virtual int port() const = 0;
};

}  // namespace nodeward::net

// The real Transport: libcurl's multi interface, HTTP/2 over TLS for https, HTTP/1.1 for http. One loop thread moves all bytes.
// send() shares a connection, each stream of open() has one of its own, so a flood of watch bytes never holds up a write. A stream's bytes wait in a buffer of at most 8 MiB; the stream is paused when it is full
// (over HTTP/2 libcurl then keeps up to its window, 32 MiB, itself).
#pragma once

#include <memory>

#include "net/http.h"

namespace nodeward::net {

std::unique_ptr<Transport> make_curl_transport(Endpoint endpoint);

}  // namespace nodeward::net

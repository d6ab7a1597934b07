// The real Transport: libcurl's multi interface, HTTP/2 over TLS for https, HTTP/1.1 for http. One loop thread moves all bytes.
// send() shares a connection, each stream of open() has one of its own, so a flood of watch bytes never holds up a write. A
// stream's bytes wait in a buffer of at most 8 MiB; the stream is paused when it is full (over HTTP/2 libcurl then keeps up to its
// window, 32 MiB, itself).
#pragma once

#include <functional>
#include <memory>

#include "net/http.h"

namespace nodeward::net {

std::unique_ptr<Transport> make_curl_transport(Endpoint endpoint);

// For an endpoint that changes, as when a CA or a client certificate is replaced: asked for before each request, on its caller's
// thread, and every `look` (0: never) by a thread of its own; one call at a time. Should one hang, as on a file system that does, so
// do new requests, but nothing that is under way. Once it says something else, all that is new goes over new connections, whole
// answers under way are finished on theirs, and streams end as broken off (kUnavailable), so that whoever reads them opens them again
// as what we are now.
using EndpointSource = std::function<std::shared_ptr<const Endpoint>()>;
std::unique_ptr<Transport> make_curl_transport(EndpointSource endpoint, Duration look = 60s);

}  // namespace nodeward::net

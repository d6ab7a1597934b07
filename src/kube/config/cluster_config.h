// How to reach an API server and as whom: what load_kubeconfig() and load_in_cluster() give, and what Credentials and the
// transport take. Everything in here was checked; nothing is read from files any more but the token file.
// It holds secrets: `source` is the only member for a message or a log line.
#pragma once

#include <filesystem>
#include <string>

#include "net/http.h"

namespace nodeward::kube {

struct ClusterConfig {
  net::Endpoint endpoint = {};            // the client certificate and its key are in here
  std::string path_prefix = {};           // of every request path; "" or "/k8s/clusters/c-1", never with a slash at its end
  std::string token = {};                 // in use until token_file gives another; "" = no bearer token
  std::filesystem::path token_file = {};  // absolute; empty = the token does not change
  std::string source = {};                // "kubeconfig /x/y, context z" or "in-cluster"
};

}  // namespace nodeward::kube

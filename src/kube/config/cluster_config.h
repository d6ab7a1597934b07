// How to reach an API server and as whom: what load_kubeconfig() and load_in_cluster() give, and what Credentials takes.
// Everything in here was checked. Where a text came from a file that may be replaced, the file stands beside it.
// It holds secrets: `source` is the only member for a message or a log line.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/http.h"

namespace nodeward::kube {

// A credential plugin: a program that prints an ExecCredential (client.authentication.k8s.io, v1 and v1beta1).
struct ExecPlugin {
  std::string api_version = {};  // what it is told to print, and must
  std::string command = {};      // a path with a slash, or a name to be found in PATH
  std::vector<std::string> args = {};
  std::vector<std::pair<std::string, std::string>> env = {};  // on top of ours
  std::string install_hint = {};
  std::string info = {};  // KUBERNETES_EXEC_INFO
};

struct ClusterConfig {
  net::Endpoint endpoint = {};                  // the client certificate and its key are in here
  std::string path_prefix = {};  // of every request path; "" or "/k8s/clusters/c-1", never with a slash at its end
  std::vector<net::Header> impersonation = {};  // of every request
  std::string token = {};  // in use until token_file gives another; "" = no bearer token
  std::filesystem::path token_file = {};  // this and the next three: absolute; empty = what it is for does not change
  std::filesystem::path ca_file = {};
  std::filesystem::path client_cert_file = {};
  std::filesystem::path client_key_file = {};
  bool disable_compression = false;  // a kubeconfig's word against asking for gzip
  std::optional<ExecPlugin> exec = {};  // then there is neither token nor client certificate
  std::string source = {};  // "kubeconfig /x/y, context z" or "in-cluster"
};

}  // namespace nodeward::kube

#include "kube/config/endpoint_files.h"

#include <sys/stat.h>

#include "kube/config/pem.h"
#include "kube/config/token.h"
#include "net/key_pair.h"
#include "telemetry/log.h"

namespace nodeward::kube {
namespace {

Result<> check_nothing(const net::Endpoint&) { return {}; }
Result<> check_pair(const net::Endpoint& whole) { return net::check_key_pair(whole.client_cert_pem, whole.client_key_pem); }

}  // namespace

EndpointFiles::EndpointFiles(const ClusterConfig& config)
    : source_(config.source),
      groups_{{{"CA", {{"CA", config.ca_file, &net::Endpoint::ca_pem, check_certificates}}, check_nothing},
               {"client certificate and key",
                {{"client certificate", config.client_cert_file, &net::Endpoint::client_cert_pem, check_certificates},
                 {"client key", config.client_key_file, &net::Endpoint::client_key_pem, check_private_key}},
                check_pair}}},
      state_(State{std::make_shared<const net::Endpoint>(config.endpoint), {}, {}}) {}

std::shared_ptr<const net::Endpoint> EndpointFiles::endpoint() {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const auto stamps = stamps_of(groups_[i]);
    if (stamps && stamps->empty()) continue;
    const bool same = state_.with([&](const State& state) {
      return stamps ? state.read[i] == stamps : state.warned[i];  // once gone it is not read until it is there again
    });
    if (!same) take(i, stamps);
  }
  return state_.with([](const State& state) { return state.endpoint; });
}

std::optional<EndpointFiles::Stamps> EndpointFiles::stamps_of(const Group& group) {
  Stamps stamps;
  for (const File& file : group.files) {
    if (file.path.empty()) continue;
    struct stat at {};
    if (stat(file.path.c_str(), &at) != 0) return std::nullopt;
    stamps.emplace_back(at.st_dev, at.st_ino, at.st_size, at.st_mtim.tv_sec, at.st_mtim.tv_nsec);
  }
  return stamps;
}

Result<> EndpointFiles::read(const Group& group, net::Endpoint& into) {
  for (const File& file : group.files) {
    if (file.path.empty()) continue;
    const auto in_file = [&](Error error) { return in_context(file.what, std::move(error)); };
    NW_TRY_ASSIGN(into.*file.text, read_unnamed(file.path).map_error(in_file));
    NW_TRY(file.check(into.*file.text).map_error(in_file));
  }
  return group.check(into);
}

void EndpointFiles::take(std::size_t index, const std::optional<Stamps>& stamps) {
  const Group& group = groups_[index];
  net::Endpoint now = *state_.with([](const State& state) { return state.endpoint; });
  const auto good = read(group, now);
  const auto [changed, warn_now] = state_.with([&](State& state) {
    const bool first_time = !good && !state.warned[index];
    state.warned[index] = !good;
    if (!good) return std::pair(false, first_time);
    state.read[index] = stamps;
    net::Endpoint next = *state.endpoint;  // another thread may have taken the other group meanwhile
    for (const File& file : group.files) next.*file.text = now.*file.text;
    if (next == *state.endpoint) return std::pair(false, false);
    state.endpoint = std::make_shared<const net::Endpoint>(std::move(next));
    return std::pair(true, false);
  });
  if (changed)
    telemetry::info("a file was replaced; connections are made anew with what it says now",
                    {{"source", source_}, {"file", group.what}});
  if (warn_now) {
    telemetry::warn("a file cannot be used; what it said before stays in use",
                    {{"source", source_}, {"file", group.what}, {"error", good.error().message}});
  }
}

}  // namespace nodeward::kube

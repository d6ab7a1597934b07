#include "kube/config/endpoint_files.h"

#include <sys/stat.h>

#include "kube/config/pem.h"
#include "kube/config/token.h"
#include "telemetry/log.h"

namespace nodeward::kube {

EndpointFiles::EndpointFiles(const ClusterConfig& config)
    : source_(config.source),
      files_{{{"CA", config.ca_file, &net::Endpoint::ca_pem, check_certificates},
              {"client certificate", config.client_cert_file, &net::Endpoint::client_cert_pem, check_certificates},
              {"client key", config.client_key_file, &net::Endpoint::client_key_pem, check_private_key}}},
      state_(State{std::make_shared<const net::Endpoint>(config.endpoint), {}, {}}) {}

std::shared_ptr<const net::Endpoint> EndpointFiles::endpoint() {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (files_[i].path.empty()) continue;
    const auto stamp = stamp_of(files_[i].path);
    const bool same = state_.with([&](const State& state) {
      return stamp ? state.read[i] == stamp : state.warned[i];  // once gone it is not read until it is there again
    });
    if (!same) read(i, stamp);
  }
  return state_.with([](const State& state) { return state.endpoint; });
}

std::optional<EndpointFiles::Stamp> EndpointFiles::stamp_of(const std::filesystem::path& file) {
  struct stat at {};
  if (stat(file.c_str(), &at) != 0) return std::nullopt;
  return Stamp{at.st_dev, at.st_ino, at.st_size, at.st_mtim.tv_sec, at.st_mtim.tv_nsec};
}

void EndpointFiles::read(std::size_t index, const std::optional<Stamp>& stamp) {
  const File& file = files_[index];
  auto text = read_unnamed(file.path);
  if (text) {
    if (const auto good = file.check(*text); !good) text = tl::unexpected<Error>(good.error());
  }
  const auto [changed, warn_now] = state_.with([&](State& state) {
    const bool first_time = !text && !state.warned[index];
    state.warned[index] = !text;
    if (!text) return std::pair(false, first_time);
    state.read[index] = stamp;
    if ((*state.endpoint).*file.text == *text) return std::pair(false, false);
    net::Endpoint next = *state.endpoint;
    next.*file.text = *text;
    state.endpoint = std::make_shared<const net::Endpoint>(std::move(next));
    return std::pair(true, false);
  });
  if (changed)
    telemetry::info("a file was replaced; connections are made anew with what it says now",
                    {{"source", source_}, {"file", file.what}});
  if (warn_now) {
    telemetry::warn("a file cannot be used; what it said before stays in use",
                    {{"source", source_}, {"file", file.what}, {"error", text.error().message}});
  }
}

}  // namespace nodeward::kube

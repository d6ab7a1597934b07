#include "kube/config/kubeconfig.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "kube/config/exec_config.h"
#include "kube/config/pem.h"
#include "kube/config/pem_field.h"
#include "kube/config/proxy.h"
#include "kube/config/section.h"
#include "kube/config/server_url.h"
#include "kube/config/user.h"
#include "telemetry/log.h"

namespace nodeward::kube {
namespace {

namespace fs = std::filesystem;

// The proxy that the file names counts, also for loopback; else the environment's.
Result<> read_proxy(const Section& cluster, const EnvLookup& env, ClusterConfig& config) {
  NW_TRY_ASSIGN(const std::string url, cluster.text("proxy-url"));
  auto proxy = url.empty() ? proxy_from_environment(config.endpoint.origin, env) : parse_proxy_url(url);
  if (!proxy && !url.empty()) return cluster.refuse("proxy-url", proxy.error().message);
  NW_TRY_ASSIGN(config.endpoint.proxy, std::move(proxy));
  return {};
}

Result<> read_cluster(const Section& cluster, const EnvLookup& env, ClusterConfig& config) {
  NW_TRY_ASSIGN(const std::string url, cluster.text("server"));
  auto server = parse_server_url(url);
  if (!server) return cluster.refuse("server", server.error().message);
  config.endpoint.origin = std::move(server->origin);
  config.path_prefix = std::move(server->path_prefix);
  NW_TRY_ASSIGN(config.endpoint.tls_server_name, cluster.text("tls-server-name"));
  NW_TRY_ASSIGN(config.endpoint.insecure, cluster.flag("insecure-skip-tls-verify"));
  NW_TRY_ASSIGN(config.disable_compression, cluster.flag("disable-compression"));
  if (config.endpoint.insecure) {
    for (const char* field : {"certificate-authority-data", "certificate-authority"}) {
      if (cluster.has(field))
        return cluster.refuse("insecure-skip-tls-verify", fmt::format("is true and {} is given too; remove one of them", field));
    }
  }
  NW_TRY_ASSIGN(PemField ca, read_pem_field(cluster, "certificate-authority", check_certificates));
  config.endpoint.ca_pem = std::move(ca.pem);
  config.ca_file = std::move(ca.file);
  return read_proxy(cluster, env, config);
}

// The files that count, first one first.
class Files {
 public:
  // The YAML is read here, and all that can throw with it.
  Result<> add(const std::string& text, const fs::path& file) {
    try {
      const YAML::Node document = YAML::Load(text);
      if (!document.IsMap())
        return fail(ErrorCode::kInvalid, fmt::format("{}: is no kubeconfig; it must be a YAML or JSON map", file.string()));
      files_.emplace_back(file.string(), fs::absolute(file).parent_path(), document);
      names_ += (names_.empty() ? "" : ":") + file.string();
      return {};
    } catch (const YAML::Exception& error) {
      // Its what() may quote the file.
      return fail(ErrorCode::kInvalid, fmt::format("{}: line {}, column {}: is no valid YAML or JSON", file.string(),
                                                   error.mark.line + 1, error.mark.column + 1));
    }
  }

  const std::string& names() const { return names_; }

  // `asked_for_by`: the field or flag that names it.
  Result<Section> entry(const std::string& kind, const std::string& name, std::string_view asked_for_by) const {
    std::vector<std::string> others;
    for (const Section& file : files_) {
      NW_TRY_ASSIGN(std::optional<Section> found, file.entry(kind, name, others));
      if (found) return std::move(*found);
    }
    return refuse(kind + "s", fmt::format("there is no entry named {}, which {} asks for; there is {}", shown(name), asked_for_by,
                                          others.empty() ? "none at all" : fmt::format("{}", fmt::join(others, ", "))));
  }

  Result<std::string> current_context() const {
    for (const Section& file : files_) {
      NW_TRY_ASSIGN(std::string name, file.text("current-context"));
      if (!name.empty()) return name;
    }
    return refuse("current-context",
                  "is missing or empty; set it to the name of a context (kubectl config use-context NAME) or give --context");
  }

 private:
  tl::unexpected<Error> refuse(std::string_view field, std::string_view why) const {
    return fail(ErrorCode::kInvalid, fmt::format("{}: {}: {}", names_, field, why));
  }

  std::vector<Section> files_;
  std::string names_;  // as in $KUBECONFIG
};

Result<ClusterConfig> read_context(const Files& files, const KubeconfigOptions& options) {
  std::string name = options.context;
  if (name.empty()) {
    NW_TRY_ASSIGN(name, files.current_context());
  }
  NW_TRY_ASSIGN(const Section context, files.entry("context", name, options.context.empty() ? "current-context" : "--context"));
  NW_TRY_ASSIGN(const std::string cluster_name, context.required_text("cluster", "give the name of an entry of clusters"));
  NW_TRY_ASSIGN(const std::string user_name, context.required_text("user", "give the name of an entry of users"));
  NW_TRY_ASSIGN(const Section cluster, files.entry("cluster", cluster_name, fmt::format("context {}", shown(name))));
  NW_TRY_ASSIGN(const Section user, files.entry("user", user_name, fmt::format("context {}", shown(name))));
  ClusterConfig config{.source = fmt::format("kubeconfig {}, context {}", files.names(), name)};
  NW_TRY(read_cluster(cluster, options.env, config));
  NW_TRY(read_user(user, config));
  NW_TRY(read_exec(user, cluster, config));
  return config;
}

Result<ClusterConfig> warn_if_insecure(Result<ClusterConfig> config) {
  if (config && config->endpoint.insecure) {
    telemetry::warn("the API server's certificate is not checked: insecure-skip-tls-verify is true",
                    {{"source", config->source}});
  }
  return config;
}

}  // namespace

Result<ClusterConfig> parse_kubeconfig(const std::string& text, const fs::path& file, const KubeconfigOptions& options) {
  Files files;
  NW_TRY(files.add(text, file));
  return read_context(files, options);
}

Result<ClusterConfig> load_kubeconfig(const fs::path& file, const KubeconfigOptions& options) {
  NW_TRY_ASSIGN(const std::string text, read_file(file));
  return warn_if_insecure(parse_kubeconfig(text, file, options));
}

Result<ClusterConfig> load_kubeconfigs(const std::string& list, const KubeconfigOptions& options) {
  Files files;
  for (const std::string& file : split(list, ':')) {
    if (file.empty()) continue;
    const auto text = read_file(file);
    if (!text && text.error().code == ErrorCode::kNotFound) continue;
    if (!text) return tl::unexpected<Error>(text.error());
    NW_TRY(files.add(*text, file));
  }
  if (files.names().empty()) return fail(ErrorCode::kNotFound, fmt::format("KUBECONFIG: none of its files is there: {}", list));
  return warn_if_insecure(read_context(files, options));
}

}  // namespace nodeward::kube

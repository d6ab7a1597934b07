#include "kube/config/exec_config.h"

#include <algorithm>

#include "base/base64.h"
#include "base/json.h"
#include "kube/config/pem.h"

namespace nodeward::kube {
namespace {

constexpr std::string_view kVersions[] = {"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"};

// What the cluster says to plugins, under a name of Kubernetes' choice (KEP 541).
Result<Json> plugin_extension(const Section& cluster) {
  NW_TRY_ASSIGN(const std::vector<Section> extensions, cluster.maps("extensions"));
  for (const Section& extension : extensions) {
    NW_TRY_ASSIGN(const std::string name, extension.text("name"));
    if (name == "client.authentication.k8s.io/exec") return extension.json("extension");
  }
  return Json();
}

// The spec.cluster of an ExecCredential.
Result<Json> cluster_info(const Section& cluster, const ClusterConfig& config) {
  Json info = {{"server", config.endpoint.origin + config.path_prefix}};
  if (!config.endpoint.tls_server_name.empty()) info["tls-server-name"] = config.endpoint.tls_server_name;
  if (config.endpoint.insecure) info["insecure-skip-tls-verify"] = true;
  if (!config.endpoint.ca_pem.empty()) info["certificate-authority-data"] = encode_base64(config.endpoint.ca_pem);
  NW_TRY_ASSIGN(const std::string proxy, cluster.text("proxy-url"));
  if (!proxy.empty()) info["proxy-url"] = proxy;
  NW_TRY_ASSIGN(Json extension, plugin_extension(cluster));
  if (!extension.is_null()) info["config"] = std::move(extension);
  return info;
}

Result<std::string> exec_info(const Section& exec, const Section& cluster, const std::string& version,
                              const ClusterConfig& config) {
  Json info = {{"apiVersion", version}, {"kind", "ExecCredential"}, {"spec", {{"interactive", false}}}};
  NW_TRY_ASSIGN(const bool with_cluster, exec.flag("provideClusterInfo"));
  if (with_cluster) {
    NW_TRY_ASSIGN(info["spec"]["cluster"], cluster_info(cluster, config));
  }
  return to_text(info);
}

Result<> check_mode(const Section& exec) {
  NW_TRY_ASSIGN(const std::string mode, exec.text("interactiveMode"));
  if (mode == "Always") {
    return exec.refuse(
        "interactiveMode",
        "is Always, but nobody is there to answer the plugin; use a plugin that can do without, and Never or IfAvailable");
  }
  if (!mode.empty() && mode != "Never" && mode != "IfAvailable")
    return exec.refuse("interactiveMode", "must be Never, IfAvailable or Always");
  return {};
}

Result<> read_environment(const Section& exec, ExecPlugin& plugin) {
  NW_TRY_ASSIGN(const std::vector<Section> entries, exec.maps("env"));
  for (const Section& entry : entries) {
    NW_TRY_ASSIGN(std::string name, entry.required_text("name", "give the name of an environment variable"));
    if (name.find('=') != name.npos) return entry.refuse("name", "has a = in it");
    NW_TRY_ASSIGN(std::string value, entry.text("value"));
    plugin.env.emplace_back(std::move(name), std::move(value));
  }
  return {};
}

}  // namespace

Result<> read_exec(const Section& user, const Section& cluster, ClusterConfig& config) {
  NW_TRY_ASSIGN(const std::optional<Section> exec, user.map("exec"));
  if (!exec) return {};
  for (const char* field : {"token", "tokenFile", "client-certificate", "client-certificate-data"}) {
    if (user.has(field)) return user.refuse("exec", fmt::format("is given together with {}; remove one of them", field));
  }
  ExecPlugin plugin;
  NW_TRY_ASSIGN(plugin.api_version, exec->text("apiVersion"));
  if (std::find(std::begin(kVersions), std::end(kVersions), plugin.api_version) == std::end(kVersions)) {
    return exec->refuse("apiVersion", fmt::format("must be {} or {}; update the plugin and the kubeconfig, from which the older "
                                                  "ones are gone since Kubernetes 1.24",
                                                  kVersions[0], kVersions[1]));
  }
  NW_TRY_ASSIGN(plugin.command, exec->required_text("command", "give the program that prints the credentials"));
  if (plugin.command.find('/') != plugin.command.npos) plugin.command = (exec->folder() / plugin.command).string();
  NW_TRY_ASSIGN(plugin.args, exec->texts("args"));
  NW_TRY(read_environment(*exec, plugin));
  NW_TRY(check_mode(*exec));
  NW_TRY_ASSIGN(plugin.install_hint, exec->text("installHint"));
  NW_TRY_ASSIGN(plugin.info, exec_info(*exec, cluster, plugin.api_version, config));
  config.exec = std::move(plugin);
  return {};
}

}  // namespace nodeward::kube

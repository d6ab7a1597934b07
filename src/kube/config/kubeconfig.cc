#include "kube/config/kubeconfig.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "kube/config/pem.h"
#include "kube/config/server_url.h"
#include "kube/config/token.h"
#include "telemetry/log.h"

namespace nodeward::kube {
namespace {

namespace fs = std::filesystem;

struct Unsupported {
  const char* field;
  std::string_view why;
};

constexpr Unsupported kUnsupportedInCluster[] = {
    {"proxy-url", "is not supported yet; remove it and let the server be reached directly"},
};

constexpr std::string_view kNoBasic =
    "basic authentication was removed from Kubernetes in 1.19; give a token, a tokenFile or a client certificate";
constexpr std::string_view kNoImpersonation = "impersonation is not supported; give a user that has the rights itself";

constexpr Unsupported kUnsupportedInUser[] = {
    {"exec", "credential plugins are not supported yet; give a token, a tokenFile or a client certificate"},
    {"auth-provider",
     "this kind was removed from Kubernetes' clients in 1.26; use exec where it is supported (here not yet), else a token, a "
     "tokenFile or "
     "a client certificate"},
    {"username", kNoBasic},
    {"password", kNoBasic},
    {"as", kNoImpersonation},
    {"as-uid", kNoImpersonation},
    {"as-groups", kNoImpersonation},
    {"as-user-extra", kNoImpersonation},
};

// A name for a message. Names have no blanks as a rule; a text with blanks may be half the file behind a quote that was never
// closed, tokens and all, so it is not shown.
std::string shown(const std::string& name) {
  return name.find_first_of(" \t\r\n") == std::string::npos ? json_quoted(name) : "(a name with blanks in it)";
}

// One map of the file, and the words that lead to it in a message: `/x/config: user "writer"`.
class Section {
 public:
  Section(std::string where, YAML::Node node) : where_(std::move(where)), node_(std::move(node)) {}

  tl::unexpected<Error> refuse(std::string_view field, std::string_view why) const {
    return fail(ErrorCode::kInvalid, fmt::format("{}: {}: {}", where_, field, why));
  }

  // There, and neither null nor empty.
  bool has(const std::string& field) const {
    const YAML::Node value = member(field);
    return value.IsDefined() && !value.IsNull() && (value.IsScalar() ? !value.Scalar().empty() : value.size() > 0);
  }

  // The text as it stands in the file, so a number keeps all its digits; "" when it is not there or null.
  Result<std::string> text(const std::string& field) const {
    const YAML::Node value = member(field);
    if (!value.IsDefined() || value.IsNull()) return std::string();
    if (!value.IsScalar()) return refuse(field, "must be text, not a list or a map");
    return value.Scalar();
  }

  Result<std::string> required_text(const std::string& field, std::string_view advice) const {
    NW_TRY_ASSIGN(std::string value, text(field));
    if (value.empty()) return refuse(field, fmt::format("is missing or empty; {}", advice));
    return value;
  }

  Result<bool> flag(const std::string& field) const {
    NW_TRY_ASSIGN(const std::string word, text(field));
    bool value = false;
    if (!word.empty() && !YAML::convert<bool>::decode(member(field), value)) return refuse(field, "must be true or false");
    return value;
  }

  Result<> refuse_all(const auto& unsupported) const {
    for (const auto& [field, why] : unsupported) {
      if (has(field)) return refuse(field, why);
    }
    return {};
  }

  // Of the list `<kind>s`, the map `<kind>` in the entry that has this name; `wanted_by` is the field that names it.
  Result<Section> entry(const std::string& kind, const std::string& name, std::string_view wanted_by) const {
    const YAML::Node list = member(kind + "s");
    std::string names;
    for (const YAML::Node& item : list.IsDefined() && list.IsSequence() ? list : YAML::Node()) {
      const Section candidate(where_, item);
      if (!item.IsMap()) return refuse(kind + "s", "each entry must be a map with a name");
      NW_TRY_ASSIGN(const std::string found, candidate.text("name"));
      if (found == name) return candidate.inner(kind, name);
      names += (names.empty() ? "" : ", ") + shown(found);
    }
    return refuse(kind + "s", fmt::format("there is no entry named {}, which {} asks for; there is {}", shown(name), wanted_by,
                                          names.empty() ? "none at all" : names));
  }

 private:
  // With the merge key of YAML 1.1 (`<<: *base`) that hand-made files use.
  YAML::Node member(const std::string& field) const {
    const YAML::Node& map = node_;
    const YAML::Node own = map[field], base = map["<<"];
    return !own.IsDefined() && base.IsDefined() && base.IsMap() ? base[field] : own;
  }

  Result<Section> inner(const std::string& kind, const std::string& name) const {
    const YAML::Node map = member(kind);
    Section section(fmt::format("{}: {} {}", where_, kind, shown(name)), map.IsDefined() ? map : YAML::Node());
    if (!section.node_.IsNull() && !section.node_.IsMap())
      return refuse(kind + "s", fmt::format("{}: {} must be a map", shown(name), kind));
    return section;
  }

  std::string where_;
  YAML::Node node_;  // a map, or null for an empty one
};

// The PEM text of `<field>-data` (base64) or of the file that `<field>` names; "" when neither is given.
Result<std::string> pem_text(const Section& section, const std::string& field, const fs::path& folder,
                             Result<> (*check)(std::string_view pem)) {
  const std::string data_field = field + "-data";
  NW_TRY_ASSIGN(const std::string data, section.text(data_field));
  NW_TRY_ASSIGN(const std::string file, section.text(field));
  if (data.empty() && file.empty()) return std::string();
  if (!data.empty() && !file.empty())
    return section.refuse(field, fmt::format("is given together with {}; remove one of them", data_field));
  std::string pem;
  if (!data.empty()) {
    auto decoded = decode_base64(data);
    if (!decoded)
      return section.refuse(data_field,
                            fmt::format("is not valid base64; give the PEM text in base64, or its path as {}", field));
    pem = std::move(*decoded);
  } else {
    auto read = read_unnamed(folder / file);
    if (!read) return section.refuse(field, read.error().message + " (a relative path starts at the kubeconfig's folder)");
    pem = std::move(*read);
  }
  if (const auto good = check(pem); !good) return section.refuse(data.empty() ? field : data_field, good.error().message);
  return pem;
}

Result<> read_cluster(const Section& cluster, const fs::path& folder, ClusterConfig& config) {
  NW_TRY(cluster.refuse_all(kUnsupportedInCluster));
  NW_TRY_ASSIGN(const std::string url, cluster.text("server"));
  auto server = parse_server_url(url);
  if (!server) return cluster.refuse("server", server.error().message);
  config.endpoint.origin = std::move(server->origin);
  config.path_prefix = std::move(server->path_prefix);
  NW_TRY_ASSIGN(config.endpoint.tls_server_name, cluster.text("tls-server-name"));
  NW_TRY_ASSIGN(config.endpoint.insecure, cluster.flag("insecure-skip-tls-verify"));
  if (config.endpoint.insecure) {
    for (const char* field : {"certificate-authority-data", "certificate-authority"}) {
      if (cluster.has(field))
        return cluster.refuse("insecure-skip-tls-verify", fmt::format("is true and {} is given too; remove one of them", field));
    }
  }
  NW_TRY_ASSIGN(config.endpoint.ca_pem, pem_text(cluster, "certificate-authority", folder, check_certificates));
  return {};
}

// A token file that can be read wins over `token`; Credentials goes on from there.
Result<> read_user_token(const Section& user, const fs::path& folder, ClusterConfig& config) {
  NW_TRY_ASSIGN(const std::string text, user.text("token"));
  if (!text.empty()) {
    auto token = token_from(text);
    if (!token) return user.refuse("token", token.error().message);
    config.token = std::move(*token);
  }
  NW_TRY_ASSIGN(const std::string file, user.text("tokenFile"));
  if (file.empty()) return {};
  config.token_file = folder / file;
  auto token = read_token(config.token_file);
  if (!token && config.token.empty()) {
    return user.refuse("tokenFile", token.error().message + " (a relative path starts at the kubeconfig's folder)");
  }
  if (token) config.token = std::move(*token);
  return {};
}

Result<> read_user(const Section& user, const fs::path& folder, ClusterConfig& config) {
  NW_TRY(user.refuse_all(kUnsupportedInUser));
  NW_TRY(read_user_token(user, folder, config));
  NW_TRY_ASSIGN(config.endpoint.client_cert_pem, pem_text(user, "client-certificate", folder, check_certificates));
  NW_TRY_ASSIGN(config.endpoint.client_key_pem, pem_text(user, "client-key", folder, check_private_key));
  if (config.endpoint.client_cert_pem.empty() != config.endpoint.client_key_pem.empty()) {
    return user.refuse(config.endpoint.client_key_pem.empty() ? "client-key" : "client-certificate",
                       "is missing; client-certificate and client-key (or their -data forms) go together");
  }
  return {};
}

Result<ClusterConfig> read_current_context(const Section& file, const fs::path& path) {
  NW_TRY_ASSIGN(const std::string current,
                file.required_text("current-context", "set it to the name of a context (kubectl config use-context NAME)"));
  NW_TRY_ASSIGN(const Section context, file.entry("context", current, "current-context"));
  NW_TRY_ASSIGN(const std::string cluster_name, context.required_text("cluster", "give the name of an entry of clusters"));
  NW_TRY_ASSIGN(const std::string user_name, context.required_text("user", "give the name of an entry of users"));
  NW_TRY_ASSIGN(const Section cluster, file.entry("cluster", cluster_name, fmt::format("context {}", shown(current))));
  NW_TRY_ASSIGN(const Section user, file.entry("user", user_name, fmt::format("context {}", shown(current))));
  const fs::path folder = fs::absolute(path).parent_path();
  ClusterConfig config{.source = fmt::format("kubeconfig {}, context {}", path.string(), current)};
  NW_TRY(read_cluster(cluster, folder, config));
  NW_TRY(read_user(user, folder, config));
  return config;
}

}  // namespace

Result<ClusterConfig> parse_kubeconfig(const std::string& text, const fs::path& file) {
  try {
    const YAML::Node document = YAML::Load(text);
    if (!document.IsMap())
      return fail(ErrorCode::kInvalid, fmt::format("{}: is no kubeconfig; it must be a YAML or JSON map", file.string()));
    return read_current_context(Section(file.string(), document), file);
  } catch (const YAML::Exception& error) {
    // Its what() may quote the file.
    return fail(ErrorCode::kInvalid, fmt::format("{}: line {}, column {}: is no valid YAML or JSON", file.string(),
                                                 error.mark.line + 1, error.mark.column + 1));
  }
}

Result<ClusterConfig> load_kubeconfig(const fs::path& file) {
  NW_TRY_ASSIGN(const std::string text, read_file(file));
  auto config = parse_kubeconfig(text, file);
  if (config && config->endpoint.insecure) {
    telemetry::warn("the API server's certificate is not checked: insecure-skip-tls-verify is true",
                    {{"source", config->source}});
  }
  return config;
}

}  // namespace nodeward::kube

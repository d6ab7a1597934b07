#include "kube/config/user.h"

#include <algorithm>

#include "kube/config/pem.h"
#include "kube/config/pem_field.h"
#include "kube/config/token.h"
#include "net/key_pair.h"

namespace nodeward::kube {
namespace {

struct Unsupported {
  const char* field;
  std::string_view why;
};

constexpr std::string_view kNoBasic =
    "basic authentication was removed from Kubernetes in 1.19; give a token, a tokenFile or a client certificate";

constexpr Unsupported kUnsupported[] = {
    {"auth-provider",
     "this kind was removed from Kubernetes' clients in 1.26; use exec, or a token, a tokenFile or a client certificate"},
    {"username", kNoBasic},
    {"password", kNoBasic},
};

// A token file that can be read wins over `token`; Credentials goes on from there.
Result<> read_user_token(const Section& user, ClusterConfig& config) {
  NW_TRY_ASSIGN(const std::string text, user.text("token"));
  if (!text.empty()) {
    auto token = token_from(text);
    if (!token) return user.refuse("token", token.error().message);
    config.token = std::move(*token);
  }
  NW_TRY_ASSIGN(const std::string file, user.text("tokenFile"));
  if (file.empty()) return {};
  config.token_file = user.folder() / file;
  auto token = read_token(config.token_file);
  if (!token && config.token.empty()) {
    return user.refuse("tokenFile", token.error().message + " (a relative path starts at the kubeconfig's folder)");
  }
  if (token) config.token = std::move(*token);
  return {};
}

Result<> read_certificate(const Section& user, ClusterConfig& config) {
  NW_TRY_ASSIGN(PemField cert, read_pem_field(user, "client-certificate", check_certificates));
  NW_TRY_ASSIGN(PemField key, read_pem_field(user, "client-key", check_private_key));
  if (cert.pem.empty() != key.pem.empty()) {
    return user.refuse(key.pem.empty() ? "client-key" : "client-certificate",
                       "is missing; client-certificate and client-key (or their -data forms) go together");
  }
  if (cert.pem.empty()) return {};
  if (const auto pair = net::check_key_pair(cert.pem, key.pem); !pair) {
    const std::string fields = fmt::format("client-certificate{} and client-key{}", cert.file.empty() ? "-data" : "",
                                           key.file.empty() ? "-data" : "");
    return user.refuse(fields, pair.error().message);
  }
  config.endpoint.client_cert_pem = std::move(cert.pem);
  config.endpoint.client_key_pem = std::move(key.pem);
  config.client_cert_file = std::move(cert.file);
  config.client_key_file = std::move(key.file);
  return {};
}

bool fits_a_header(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != 0x7f; });
}

// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
Result<> read_impersonation(const Section& user, ClusterConfig& config) {
  std::vector<net::Header>& headers = config.impersonation;
  const auto add = [&](const std::string& field, std::string name, std::string value) -> Result<> {
    if (!fits_a_header(value) || value.empty())
      return user.refuse(field, "is empty or has line ends or control characters in it");
    headers.push_back({std::move(name), std::move(value)});
    return {};
  };
  NW_TRY_ASSIGN(std::string name, user.text("as"));
  if (name.empty()) {
    for (const char* field : {"as-uid", "as-groups", "as-user-extra"}) {
      if (user.has(field)) return user.refuse(field, "is given without as, the name of the user to act as");
    }
    return {};
  }
  NW_TRY(add("as", "Impersonate-User", std::move(name)));
  NW_TRY_ASSIGN(std::string uid, user.text("as-uid"));
  if (!uid.empty()) NW_TRY(add("as-uid", "Impersonate-Uid", std::move(uid)));
  NW_TRY_ASSIGN(const std::vector<std::string> groups, user.texts("as-groups"));
  for (const std::string& group : groups) NW_TRY(add("as-groups", "Impersonate-Group", group));
  NW_TRY_ASSIGN(const auto extras, user.text_lists("as-user-extra"));
  for (const auto& [key, values] : extras) {
    for (const std::string& value : values) NW_TRY(add("as-user-extra", impersonation_header(key), value));
  }
  return {};
}

}  // namespace

std::string impersonation_header(std::string_view key) {
  constexpr std::string_view kPlain = "!#$&'*+-.^_`|~";  // with letters and digits, RFC 9110's token; less the % of the encoding
  std::string out = "Impersonate-Extra-";
  for (const char c : key) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       kPlain.find(c) != kPlain.npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

Result<> read_user(const Section& user, ClusterConfig& config) {
  for (const auto& [field, why] : kUnsupported) {
    if (user.has(field)) return user.refuse(field, why);
  }
  NW_TRY(read_user_token(user, config));
  NW_TRY(read_certificate(user, config));
  return read_impersonation(user, config);
}

}  // namespace nodeward::kube

#include "kube/config/exec_credential.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "kube/config/pem.h"
#include "kube/config/token.h"
#include "net/key_pair.h"

namespace nodeward::kube {
namespace {

// metav1.Time: 2026-09-01T08:30:00Z, perhaps with a fraction (dropped: an expiry a second early is no harm) and an offset.
std::optional<WallTime> parse_time(std::string_view text) {
  bool good = text.size() >= 20 && text[4] == '-' && text[7] == '-' && text[10] == 'T' && text[13] == ':' && text[16] == ':';
  const auto number = [&](std::size_t at, std::size_t count) {
    const std::string_view digits = text.substr(std::min(at, text.size()), count);
    good = good && digits.size() == count && digits.find_first_not_of("0123456789") == digits.npos;
    return good ? static_cast<int>(*parse_int(digits)) : 0;
  };
  const int year = std::clamp(number(0, 4), 1700, 2200);  // what nanoseconds in 64 bits hold
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  const auto time_of_day = std::chrono::hours(number(11, 2)) + std::chrono::minutes(number(14, 2)) +
                           std::chrono::seconds(number(17, 2));
  if (!good || !date.ok() || time_of_day > 24h) return std::nullopt;
  text.remove_prefix(19);
  if (text.starts_with('.')) text.remove_prefix(std::min(text.find_first_not_of("0123456789", 1), text.size()));
  Duration offset{};
  if (text != "Z") {
    good = text.size() == 6 && (text[0] == '+' || text[0] == '-') && text[3] == ':';
    offset = std::chrono::hours(number(1, 2)) + std::chrono::minutes(number(4, 2));
    if (!good) return std::nullopt;
    if (text[0] == '-') offset = -offset;
  }
  return WallTime(std::chrono::sys_days(date)) + time_of_day - offset;
}

tl::unexpected<Error> bad(std::string_view what) { return fail(ErrorCode::kInvalid, std::string(what)); }

Result<> check_kind(const Json& object, std::string_view wanted) {
  const std::string version = text_at(object, "apiVersion");
  if (text_at(object, "kind") != "ExecCredential") return bad("its output has not the kind ExecCredential");
  if (version == wanted) return {};
  // Anything else may be a secret in the wrong place.
  const bool known = version.starts_with("client.authentication.k8s.io/v") && version.size() < 40;
  return bad(fmt::format("its output is of apiVersion {}, but the kubeconfig's exec asks for {}; make both the same",
                         known ? version : "of another kind", wanted));
}

}  // namespace

Result<ExecCredential> parse_exec_credential(std::string_view text, std::string_view api_version) {
  const auto object = parse_json(text);
  if (!object || !object->is_object()) return bad(text.empty() ? "it printed nothing" : "its output is no JSON object");
  NW_TRY(check_kind(*object, api_version));
  const Json status = object->value("status", Json());
  ExecCredential credential{.token = text_at(status, "token"),
                            .client_cert_pem = text_at(status, "clientCertificateData"),
                            .client_key_pem = text_at(status, "clientKeyData")};
  const auto field = [](const char* name) {
    return [name](const Error& error) {
      return Error{error.code, fmt::format("its output's status.{} {}", name, error.message), {}};
    };
  };
  if (credential.token.empty() && credential.client_cert_pem.empty() && credential.client_key_pem.empty())
    return bad("its output has neither status.token nor status.clientCertificateData");
  if (credential.client_cert_pem.empty() != credential.client_key_pem.empty())
    return bad("its output has only one of status.clientCertificateData and status.clientKeyData");
  if (!credential.token.empty()) {
    NW_TRY_ASSIGN(credential.token, token_from(credential.token).map_error(field("token")));
  }
  if (!credential.client_cert_pem.empty()) {
    NW_TRY(check_certificates(credential.client_cert_pem).map_error(field("clientCertificateData")));
    NW_TRY(check_private_key(credential.client_key_pem).map_error(field("clientKeyData")));
    NW_TRY(net::check_key_pair(credential.client_cert_pem, credential.client_key_pem)
               .map_error(field("clientCertificateData and status.clientKeyData")));
  }
  if (status.contains("expirationTimestamp") && !status["expirationTimestamp"].is_null()) {
    credential.expiry = parse_time(text_at(status, "expirationTimestamp"));
    if (!credential.expiry) return bad("its output's status.expirationTimestamp is no time like 2026-09-01T08:30:00Z");
  }
  return credential;
}

}  // namespace nodeward::kube

#include "kube/config/exec_plugin.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <regex>

#include "base/text.h"
#include "kube/config/section.h"
#include "telemetry/log.h"

namespace nodeward::kube {
namespace {

constexpr std::size_t kMostShown = 200;
constexpr std::size_t kLeastSecret = 6;  // what is shorter hides nothing and would blot out whole words

std::vector<std::string> environment_of(const ExecPlugin& plugin) {
  auto own = plugin.env;
  own.emplace_back("KUBERNETES_EXEC_INFO", plugin.info);
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const bool replaced = std::any_of(own.begin(), own.end(), [&](const auto& one) { return text.starts_with(one.first + "="); });
    if (!replaced) all.emplace_back(text);
  }
  for (const auto& [name, value] : own) all.push_back(name + "=" + value);
  return all;
}

// The values of its environment, those of arguments like --client-secret VALUE, --client-secret=VALUE and API_TOKEN=VALUE, and its
// token.
std::vector<std::string> secrets_of(const ExecPlugin& plugin, const ExecCredential* credential) {
  static const std::regex kNamed("[a-z_-]*(token|passw|secret|key|credential)[a-z_-]*", std::regex::icase);
  std::vector<std::string> secrets;
  for (const auto& [name, value] : plugin.env) secrets.push_back(value);
  for (std::size_t i = 0; i < plugin.args.size(); ++i) {
    const std::string& argument = plugin.args[i];
    const auto equals = argument.find('=');
    if (!std::regex_match(argument.substr(0, equals), kNamed)) continue;
    if (equals != argument.npos) secrets.push_back(argument.substr(equals + 1));
    if (equals == argument.npos && argument.starts_with('-') && i + 1 < plugin.args.size()) secrets.push_back(plugin.args[i + 1]);
  }
  if (credential != nullptr) secrets.push_back(credential->token);
  return secrets;
}

}  // namespace

std::string without_secrets(std::string_view text, const std::vector<std::string>& secrets) {
  static const std::regex kNamed(R"(((token|passw|secret|key|credential|bearer|authorization)[a-z_-]*["']?\s*[=:]\s*)\S.*)",
                                 std::regex::icase);
  static const std::regex kUser(R"(://[^/\s]*@)");
  static const std::regex kLong(R"([A-Za-z0-9+_=-]*[0-9][A-Za-z0-9+/_=-]*)");
  text = trimmed(text);
  std::string line(text.substr(0, std::min(text.find_first_of("\r\n"), 4 * kMostShown)));
  for (const std::string& secret : secrets) {
    if (secret.size() < kLeastSecret) continue;
    for (auto at = line.find(secret); at != line.npos; at = line.find(secret, at)) line.replace(at, secret.size(), "***");
  }
  line = std::regex_replace(line, kUser, "://***@");
  line = std::regex_replace(line, kNamed, "$1***");
  std::string out;
  auto from = line.cbegin();
  for (std::sregex_iterator word(line.begin(), line.end(), kLong), end; word != end; ++word) {
    out.append(from, (*word)[0].first);
    out += word->length() < 20 ? word->str() : "***";
    from = (*word)[0].second;
  }
  out.append(from, line.cend());
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, ' ');
  return out.size() <= kMostShown ? out : out.substr(0, kMostShown) + "...";
}

Result<ExecCredential> run_plugin(const ExecPlugin& plugin, const ChildLimits& limits, const std::stop_token& stop) {
  const auto failed = [&](ErrorCode code, std::string_view what) {
    return fail(code, fmt::format("credential plugin {}: {}", shown(plugin.command), what));
  };
  ChildCommand command{.arguments = {plugin.command}, .environment = environment_of(plugin)};
  command.arguments.insert(command.arguments.end(), plugin.args.begin(), plugin.args.end());
  const auto child = run_child(command, limits, stop);
  if (!child) {
    const ErrorCode code = child.error().code == ErrorCode::kCancelled ? ErrorCode::kCancelled : ErrorCode::kUnauthorized;
    const bool hint = child.error().code == ErrorCode::kNotFound && !plugin.install_hint.empty();
    return failed(code, child.error().message + (hint ? ": " + without_secrets(plugin.install_hint, {}) : ""));
  }
  auto credential = parse_exec_credential(child->output, plugin.api_version);
  const bool good = child->exit_code == 0 && credential;
  const std::string says = without_secrets(child->complaint, secrets_of(plugin, credential ? &*credential : nullptr));
  if (!good) {
    const std::string what = child->exit_code != 0 ? fmt::format("ended with exit code {}", child->exit_code)
                                                   : credential.error().message;
    return failed(ErrorCode::kUnauthorized, what + (says.empty() ? "" : ": " + says));
  }
  if (!says.empty()) telemetry::info("the credential plugin says", {{"plugin", shown(plugin.command)}, {"text", says}});
  return credential;
}

}  // namespace nodeward::kube

#include "kube/config/kubeconfig.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "base/base64.h"
#include "base/text.h"
#include "kube/config/pem.h"
#include "kube/config/temp_folder.h"
#include "net/test_certificates.h"

namespace nodeward::kube {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Strings = std::vector<std::string>;

const std::filesystem::path kFolder = std::filesystem::path(NW_SOURCE_DIR) / "tests/data/kubeconfigs";

std::string ca_pem() { return read_file(kFolder / "certs/ca.crt").value(); }

// ---- Requirement R31: each file of the folder comes out as the second column of its wanted.tsv says ----

// The config as text, the parts that differ between the files only.
struct Accepted {
  std::string origin = "https://k8s.example.net:6443";
  std::string path_prefix = {};
  std::string token = "not-a-real-token";
  std::string token_file = {};  // below the folder
  std::string tls_server_name = {};
  std::string ca = ca_pem();
  bool insecure = false;
  std::string plugin = {};
  std::string log = {};  // what the one line on standard error says
};
using Refused = Strings;  // what the message must have in it, beside the file

struct Row {
  std::string file;
  std::variant<Accepted, Refused> wanted;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.file; }

const Row kRows[] = {
    {"exec-plain.yaml", Accepted{.token = "", .plugin = (kFolder / "./exec-token.sh").string()}},
    {"exec-v1-cluster-info.yaml",
     Accepted{.token = "", .tls_server_name = "api.internal", .plugin = "credential-helper-not-installed"}},
    {"tls-server-name-ip.yaml", Accepted{.origin = "https://192.0.2.10:6443", .tls_server_name = "api.train.internal"}},
    {"ipv6.yaml", Accepted{.origin = "https://[2001:db8::10]:6443"}},
    {"ipv6-zone.yaml", Accepted{.origin = "https://[fe80::1%25eth0]:6443"}},
    {"ipv6-no-port.yaml", Accepted{.origin = "https://[2001:db8::10]"}},  // https is port 443
    {"path-prefix.yaml", Accepted{.origin = "https://proxy.example.net", .path_prefix = "/k8s/clusters/c-m-1a2b3c4d"}},
    {"trailing-slash.yaml", Accepted{}},
    {"no-scheme.yaml", Accepted{}},
    {"plain-http.yaml", Accepted{.origin = "http://127.0.0.1:8001", .ca = ""}},
    {"insecure.yaml",
     Accepted{.origin = "https://192.0.2.10:6443", .ca = "", .insecure = true, .log = "certificate is not checked"}},
    {"insecure-and-ca.yaml",
     Refused{"cluster \"train\"", "insecure-skip-tls-verify", "certificate-authority-data", "remove one"}},
    {"ca-bad-base64.yaml", Refused{"cluster \"train\"", "certificate-authority-data", "base64"}},
    {"ca-base64-of-nothing-pem.yaml", Refused{"cluster \"train\"", "certificate-authority-data", "no certificate"}},
    {"ca-folded.yaml", Accepted{}},
    {"ca-literal-lines.yaml", Accepted{}},
    {"ca-none.yaml", Accepted{.ca = ""}},
    {"ca-file-relative.yaml", Accepted{.token = "file-token-not-real", .token_file = "certs/token"}},
    {"ca-two-pem.yaml", Accepted{.ca = "# comment before\n" + ca_pem() + "\n" + ca_pem()}},
    {"token-and-file.yaml", Accepted{.token = "file-token-not-real", .token_file = "certs/token"}},
    {"no-current-context.yaml", Refused{"current-context", "use-context"}},
    {"context-missing.yaml", Refused{"contexts", "\"prod\"", "there is \"train\""}},
    {"user-missing.yaml", Refused{"users", "\"nobody\"", "context \"train\"", "there is \"writer\""}},
    {"context-with-odd-name.yaml", Accepted{}},
    {"anchors-comments-tabs.yaml", Accepted{}},
    {"json-form.json", Accepted{}},
    {"crlf-bom.yaml", Accepted{}},
    {"numeric-token.yaml", Accepted{.token = "1234567890123456789012"}},
    {"basic-auth.yaml", Refused{"user \"writer\"", "username", "basic authentication"}},
    {"auth-provider.yaml", Refused{"user \"writer\"", "auth-provider", "removed", "use exec"}},
};

class File : public testing::TestWithParam<Row> {
 protected:
  void expect(const Result<ClusterConfig>& config, const Refused& wanted) const {
    ASSERT_FALSE(config) << "was accepted: " << config->endpoint.origin;
    EXPECT_EQ(config.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(config.error().message, AllOf(testing::StartsWith(path().string() + ": "), Not(HasSubstr("\n"))));
    for (const std::string& part : wanted) EXPECT_THAT(config.error().message, HasSubstr(part));
  }
  void expect(const Result<ClusterConfig>& config, const Accepted& wanted) const {
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->endpoint.origin, wanted.origin);
    EXPECT_EQ(config->path_prefix, wanted.path_prefix);
    EXPECT_EQ(config->token, wanted.token);
    EXPECT_EQ(config->token_file, wanted.token_file.empty() ? "" : kFolder / wanted.token_file);
    EXPECT_EQ(config->endpoint.tls_server_name, wanted.tls_server_name);
    EXPECT_EQ(config->endpoint.ca_pem, wanted.ca);
    EXPECT_EQ(config->endpoint.insecure, wanted.insecure);
    EXPECT_EQ(config->exec ? config->exec->command : "", wanted.plugin);
    EXPECT_EQ(config->endpoint.client_cert_pem + config->endpoint.client_key_pem, "");
    EXPECT_THAT(config->source, testing::StartsWith("kubeconfig " + path().string() + ", context "));
  }
  std::filesystem::path path() const { return kFolder / GetParam().file; }
};

TEST_P(File, ComesOutAsWanted) {
  testing::internal::CaptureStderr();
  const auto config = load_kubeconfig(path());
  const std::string log = testing::internal::GetCapturedStderr();
  std::visit([&](const auto& wanted) { expect(config, wanted); }, GetParam().wanted);
  const auto* accepted = std::get_if<Accepted>(&GetParam().wanted);
  const std::string wanted_log = accepted == nullptr ? "" : accepted->log;
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), wanted_log.empty() ? 0 : 1) << log;
  EXPECT_THAT(log, HasSubstr(wanted_log));
}

std::string test_name(const testing::TestParamInfo<Row>& info) {
  std::string name = info.param.file.substr(0, info.param.file.find('.'));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(R31Kubeconfig, File, testing::ValuesIn(kRows), test_name);

TEST(R31, EveryFileOfWantedIsInTheTable) {
  Strings listed, tested;
  const Strings lines = split(read_file(kFolder / "wanted.tsv").value(), '\n');
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::string file = split(lines[i], '\t')[0];
    // These are what a credential plugin prints, no kubeconfigs: exec_test.cc.
    if (!file.empty() && !file.starts_with("exec-output-")) listed.push_back(file);
  }
  for (const Row& row : kRows) tested.push_back(row.file);
  EXPECT_THAT(tested, testing::UnorderedElementsAreArray(listed));
}

// ---- What the folder has no file for ----

struct Made {
  std::string cluster = "{server: 'https://host:6443'}";
  std::string user = "{token: t}";
  std::string rest = {};
};

class Kubeconfig : public testing::Test {
 protected:
  Result<ClusterConfig> load_text(std::string_view text) const { return load_kubeconfig(folder_.write("config", text)); }
  Result<ClusterConfig> load(const Made& made) const {
    return load_text("clusters: [{name: c, cluster: " + made.cluster + "}]\nusers: [{name: u, user: " + made.user +
                     "}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n" + made.rest);
  }
  std::string refusal(const Made& made) const {
    const auto config = load(made);
    return config ? "accepted" : config.error().message;
  }

  TempFolder folder_;
};

constexpr char kKey[] = "-----BEGIN EC PRIVATE KEY-----\nTUs=\n-----END EC PRIVATE KEY-----\n";  // of nothing

TEST_F(Kubeconfig, TakesAClientCertificateFromFilesOrData) {
  const net::TestCertificate own = net::make_certificate("own");
  folder_.write("cert.pem", own.certificate_pem());
  folder_.write("key.pem", own.key_pem());
  const std::string absolute = (folder_.path() / "cert.pem").string();
  const auto config = load({.user = "{client-certificate: " + absolute + ", client-key: key.pem}"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->endpoint.client_cert_pem, own.certificate_pem());
  EXPECT_EQ(config->endpoint.client_key_pem, own.key_pem());
  EXPECT_EQ(config->token, "");
  EXPECT_EQ(load({.user = "{client-certificate: cert.pem, client-key-data: " + encode_base64(own.key_pem()) + "}"})
                ->endpoint.client_key_pem,
            own.key_pem());
}

TEST_F(Kubeconfig, R31ACertificateAndAKeyThatAreNoPairAreRefusedByBothFields) {
  folder_.write("cert.pem", net::make_certificate("one").certificate_pem());
  folder_.write("key.pem", net::make_certificate("two").key_pem());
  EXPECT_THAT(refusal({.user = "{client-certificate: cert.pem, client-key: key.pem}"}),
              HasSubstr("user \"u\": client-certificate and client-key: are no pair: the private key is of another certificate"));
  EXPECT_THAT(refusal({.user = "{client-certificate: cert.pem, client-key-data: " + encode_base64(kKey) + "}"}),
              HasSubstr("client-certificate and client-key-data: are no pair: the private key cannot be read"));
}

TEST_F(Kubeconfig, RefusesHalfAClientCertificateOrABadOne) {
  folder_.write("cert.pem", ca_pem());
  folder_.write("key.pem", kKey);
  folder_.write("locked.pem", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n");
  EXPECT_THAT(refusal({.user = "{client-certificate: cert.pem}"}), HasSubstr("user \"u\": client-key: is missing"));
  EXPECT_THAT(refusal({.user = "{client-key: key.pem}"}), HasSubstr("user \"u\": client-certificate: is missing"));
  EXPECT_THAT(refusal({.user = "{client-certificate: key.pem, client-key: key.pem}"}),
              HasSubstr("client-certificate: holds no certificate"));
  EXPECT_THAT(refusal({.user = "{client-certificate: cert.pem, client-key: cert.pem}"}),
              HasSubstr("client-key: holds no private key"));
  EXPECT_THAT(refusal({.user = "{client-certificate: cert.pem, client-key: locked.pem}"}), HasSubstr("client-key: is locked"));
  EXPECT_THAT(refusal({.user = "{client-certificate: cert.pem, client-certificate-data: aGk=, client-key: key.pem}"}),
              HasSubstr("client-certificate: is given together with client-certificate-data"));
}

TEST_F(Kubeconfig, RefusesFilesThatCannotBeReadByFieldAndReason) {
  EXPECT_THAT(refusal({.cluster = "{server: a, certificate-authority: gone}"}),
              HasSubstr("cluster \"c\": certificate-authority: cannot be read: No such file"));
  EXPECT_THAT(refusal({.cluster = "{server: a, certificate-authority: .}"}), HasSubstr("certificate-authority: is a folder"));
  EXPECT_THAT(refusal({.user = "{tokenFile: gone}"}), HasSubstr("user \"u\": tokenFile: cannot be read: No such file"));
  folder_.write("empty", "\n");
  EXPECT_THAT(refusal({.user = "{tokenFile: empty}"}), HasSubstr("user \"u\": tokenFile: is empty"));
  EXPECT_EQ(load_kubeconfig(folder_.path() / "none").error().code, ErrorCode::kNotFound);
}

TEST_F(Kubeconfig, UsesTheTokenWhileTheTokenFileCannotBeRead) {
  const auto config = load({.user = "{token: t, tokenFile: gone}"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->token, "t");
  EXPECT_EQ(config->token_file, folder_.path() / "gone");
}

TEST_F(Kubeconfig, RefusesWhatWouldChangeWhoWeAre) {
  EXPECT_THAT(refusal({.user = "{token: t, password: p}"}), HasSubstr("user \"u\": password: "));
  EXPECT_THAT(refusal({.user = "{token: t, exec: null, as-groups: [], username: ''}"}), "accepted");
}

std::string as_text(const std::vector<net::Header>& headers) {
  std::string text;
  for (const net::Header& header : headers) text += header.name + ": " + header.value + "\n";
  return text;
}

TEST_F(Kubeconfig, ActsAsAnotherUserByHeaders) {
  const auto config = load({.user = "{token: t, as: jane@x, as-uid: 7, as-groups: [one, 'two three'], "
                                    "as-user-extra: {example.net/Reason %: [a, b], scopes: [c]}}"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(as_text(config->impersonation),
            "Impersonate-User: jane@x\nImpersonate-Uid: 7\nImpersonate-Group: one\nImpersonate-Group: two three\n"
            "Impersonate-Extra-example.net%2FReason%20%25: a\nImpersonate-Extra-example.net%2FReason%20%25: b\n"
            "Impersonate-Extra-scopes: c\n");
  for (const char* field : {"as-uid: '1'", "as-groups: [a]", "as-user-extra: {a: [b]}"}) {
    EXPECT_THAT(refusal({.user = std::string("{token: t, ") + field + "}"}), HasSubstr("is given without as")) << field;
  }
  for (const char* field : {"as-groups: a", "as-groups: [[a]]", "as-groups: [\"a\\nX: y\"]", "as-user-extra: {a: b}",
                            "as-user-extra: [a]", "as-groups: ['']"}) {
    const std::string name = std::string(field).substr(0, std::string(field).find(':'));
    EXPECT_THAT(refusal({.user = std::string("{token: t, as: x, ") + field + "}"}), HasSubstr("user \"u\": " + name + ": "))
        << field;
  }
}

TEST_F(Kubeconfig, GoesThroughTheProxyItNamesElseTheEnvironments) {
  const auto file = folder_.write("config", R"(
clusters: [{name: a, cluster: {server: 'https://127.0.0.1', proxy-url: 'socks5://user:hunter2@p'}},
           {name: b, cluster: {server: 'https://b'}}, {name: c, cluster: {server: 'https://c.example.net'}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: a, context: {cluster: a, user: u}}, {name: b, context: {cluster: b, user: u}},
           {name: c, context: {cluster: c, user: u}}]
)");
  const EnvLookup env = [](const char* name) {
    return std::string(name) == "HTTPS_PROXY" ? "http://env:1" : std::string(name) == "NO_PROXY" ? ".example.net" : nullptr;
  };
  EXPECT_EQ(load_kubeconfig(file, {"a", env})->endpoint.proxy, "socks5h://user:hunter2@p:1080");
  EXPECT_EQ(load_kubeconfig(file, {"b", env})->endpoint.proxy, "http://env:1");
  EXPECT_EQ(load_kubeconfig(file, {"c", env})->endpoint.proxy, "");
  EXPECT_THAT(refusal({.cluster = "{server: a, proxy-url: 'ftp://user:hunter2@p'}"}),
              AllOf(HasSubstr("cluster \"c\": proxy-url: "), Not(HasSubstr("hunter2"))));
}

TEST_F(Kubeconfig, SaysWhetherAnswersMayBeCompressed) {
  EXPECT_FALSE(load({})->disable_compression);
  EXPECT_TRUE(load({.cluster = "{server: a, disable-compression: true}"})->disable_compression);
  EXPECT_THAT(refusal({.cluster = "{server: a, disable-compression: perhaps}"}),
              HasSubstr("cluster \"c\": disable-compression: must be true or false"));
}

TEST_F(Kubeconfig, RefusesAnExtensionThatContainsItselfOrIsEndless) {
  constexpr auto kUser = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: cat, provideClusterInfo: true}}";
  std::string laughs = "[&l0 [a]";
  for (int i = 0; i < 12; ++i) laughs += fmt::format(", &l{0} [*l{1}, *l{1}, *l{1}, *l{1}, *l{1}]", i + 1, i);
  for (const std::string& extension : {std::string("&a {b: *a}"), laughs + "]"}) {
    const std::string cluster = "{server: a, extensions: [{name: client.authentication.k8s.io/exec, extension: " + extension +
                                "}]}";
    EXPECT_THAT(refusal({.cluster = cluster, .user = kUser}),
                HasSubstr("extension: is nested too deep, too large, or contains itself"));
  }
}

TEST_F(Kubeconfig, TakesAUserWithNothingAsAnonymous) {
  EXPECT_EQ(load({.user = "{}"})->token, "");
  EXPECT_EQ(load({.user = "null"})->token, "");
}

TEST_F(Kubeconfig, FollowsMergeKeys) {
  EXPECT_EQ(load({.user = "{<<: &base {token: merged}}"})->token, "merged");
  EXPECT_EQ(load({.user = "{<<: &base {token: merged}, token: own}"})->token, "own");
}

TEST_F(Kubeconfig, TakesJsonIndentedWithTabs) {
  const auto config = load_text(
      "{\n\t\"clusters\": [\n\t\t{\"name\": \"c\",\n\t\t\"cluster\": {\n\t\t\t\"server\": "
      "\"https:\\/\\/host:6443\"\n\t\t}\n\t}],\n"
      "\t\"users\": [{\"name\": \"u\", \"user\": {\"token\": \"t\"}}],\n"
      "\t\"contexts\": [{\"name\": \"x\", \"context\": {\"cluster\": \"c\", \"user\": \"u\"}}],\n\t\"current-context\": "
      "\"x\"\n}\n");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->endpoint.origin, "https://host:6443");
}

TEST_F(Kubeconfig, TakesTheContextThatIsAskedFor) {
  const auto file = folder_.write("config", R"(
clusters: [{name: a, cluster: {server: 'https://a'}}, {name: b, cluster: {server: 'https://b'}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: one, context: {cluster: a, user: u}}, {name: two, context: {cluster: b, user: u}}]
current-context: one
)");
  EXPECT_EQ(load_kubeconfig(file)->endpoint.origin, "https://a");
  const auto two = load_kubeconfig(file, {.context = "two"});
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_EQ(two->endpoint.origin, "https://b");
  EXPECT_THAT(two->source, testing::EndsWith("context two"));
  EXPECT_THAT(load_kubeconfig(file, {.context = "three"}).error().message,
              HasSubstr("contexts: there is no entry named \"three\", which --context asks for; there is \"one\", \"two\""));
}

// ---- Several files: of each name the first entry counts, and the first current-context ----

class KubeconfigList : public testing::Test {
 protected:
  std::string list(std::initializer_list<std::filesystem::path> files) const {
    std::string text;
    for (const auto& file : files) text += (text.empty() ? "" : ":") + file.string();
    return text;
  }
  TempFolder one_, two_;
};

TEST_F(KubeconfigList, R31IsMergedAsKubectlDoes) {
  one_.write("token", "of-one");
  two_.write("token", "of-two");
  const auto first = one_.write("config", R"(
clusters: [{name: c, cluster: {server: 'https://first'}}]
contexts: [{name: x, context: {cluster: c, user: u}}, {name: z, context: {cluster: c, user: v}}]
)");
  const auto second = two_.write("config", R"(
clusters: [{name: c, cluster: {server: 'https://second'}}]
users: [{name: u, user: {tokenFile: token}}, {name: v, user: {token: t}}]
contexts: [{name: x, context: {cluster: none, user: none}}]
current-context: x
)");
  const auto third = two_.write("third", "current-context: z\nusers: [{name: u, user: {token: other}}]\n");
  const auto config = load_kubeconfigs(list({first, one_.path() / "gone", "", second, third}));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->endpoint.origin, "https://first");
  EXPECT_EQ(config->token, "of-two");  // a relative path starts at its own file's folder
  EXPECT_EQ(config->source, "kubeconfig " + list({first, second, third}) + ", context x");
  EXPECT_EQ(load_kubeconfigs(list({third, first, second}))->token, "t");
  EXPECT_EQ(load_kubeconfigs(list({first, third, second}), {.context = "x"})->token, "other");
}

TEST_F(KubeconfigList, NamesTheFileThatIsWrongOrAllWhenNoneHasIt) {
  const auto first = one_.write("config", "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x");
  const auto second = two_.write("config", "clusters: [{name: c, cluster: {server: 'ftp://x'}}]\nusers: [{name: u, user: {}}]");
  const auto broken = two_.write("broken", "a: [");
  EXPECT_THAT(load_kubeconfigs(list({first, second})).error().message,
              testing::StartsWith(second.string() + ": cluster \"c\": server: "));
  EXPECT_THAT(load_kubeconfigs(list({first, broken})).error().message, testing::StartsWith(broken.string() + ": line 1"));
  EXPECT_THAT(load_kubeconfigs(list({first, second}), {.context = "y"}).error().message,
              AllOf(testing::StartsWith(first.string() + ":" + second.string() + ": contexts: "), HasSubstr("there is \"x\"")));
  EXPECT_THAT(load_kubeconfigs(list({one_.path() / "gone"})).error().message,
              HasSubstr("KUBECONFIG: none of its files is there"));
}

TEST_F(Kubeconfig, RefusesBottomlessNesting) {
  EXPECT_THAT(load_text(std::string(100000, '[')).error().message, HasSubstr("is no valid YAML or JSON"));
  EXPECT_THAT(load_text(std::string(100000, '{')).error().message, HasSubstr("is no valid YAML or JSON"));
}

TEST_F(Kubeconfig, RefusesOtherShapesByField) {
  for (const char* text : {"", "null", "hello", "[1]", "# only a comment\n"}) {
    EXPECT_THAT(load_text(text).error().message, HasSubstr("is no kubeconfig")) << text;
  }
  EXPECT_THAT(load_text("current-context: [x]").error().message, HasSubstr("current-context: must be text"));
  EXPECT_THAT(load_text("current-context: x").error().message, HasSubstr("contexts: there is no entry named \"x\""));
  EXPECT_THAT(load_text("current-context: x\ncontexts: {x: 1}").error().message,
              HasSubstr("contexts: there is no entry named \"x\""));
  EXPECT_THAT(load_text("current-context: x\ncontexts: [x]").error().message, HasSubstr("contexts: each entry must be a map"));
  EXPECT_THAT(load_text("current-context: x\ncontexts: [{name: x}]").error().message,
              HasSubstr("context \"x\": cluster: is missing"));
  EXPECT_THAT(refusal({.cluster = "[1]"}), HasSubstr("clusters: \"c\": cluster must be a map"));
  EXPECT_THAT(refusal({.cluster = "{}"}), HasSubstr("cluster \"c\": server: is missing"));
  EXPECT_THAT(refusal({.cluster = "{server: [a]}"}), HasSubstr("server: must be text"));
  EXPECT_THAT(refusal({.cluster = "{server: a, insecure-skip-tls-verify: perhaps}"}),
              HasSubstr("insecure-skip-tls-verify: must be true or false"));
  EXPECT_THAT(refusal({.user = "{token: {a: b}}"}), HasSubstr("user \"u\": token: must be text"));
  EXPECT_THAT(refusal({.user = "{token: 'two words'}"}), HasSubstr("user \"u\": token: is no token"));
}

// ---- No message shows a secret ----

Strings secrets_of(const std::string& text) {
  Strings secrets = {"not-a-real", "inline-token", "file-token", "1234567890", "hunter2"};
  for (auto at = text.find("LS0t"); at != std::string::npos; at = text.find("LS0t", at + 1))
    secrets.push_back(text.substr(at, 8));
  return secrets;
}

// Files as a slip of the hand makes them: cut off, or a stray piece in the middle.
TEST(KubeconfigWithASlip, NoMessageShowsASecretWhateverIsWrongWithTheFile) {
  int refused = 0;
  for (const Row& row : kRows) {
    const std::string text = read_file(kFolder / row.file).value();
    const Strings secrets = secrets_of(text);
    for (const char* stray : {"", "\t", "\"", "{", "*", ": ", "\n", "&a ", "!", "- ", "\xff"}) {
      for (std::size_t at = 0; at < text.size(); at += 31) {
        const bool cut = *stray == '\0';
        const auto config = parse_kubeconfig(text.substr(0, at) + stray + (cut ? "" : text.substr(at)), kFolder / row.file);
        if (config) continue;
        ++refused;
        for (const std::string& secret : secrets)
          ASSERT_THAT(config.error().message, Not(HasSubstr(secret))) << row.file << " at " << at;
        ASSERT_THAT(config.error().message, Not(HasSubstr("\n")));
      }
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST_F(Kubeconfig, NoMessageShowsASecretThatStandsInTheWrongField) {
  for (const char* field : {"tokenFile", "client-certificate", "client-key", "client-certificate-data", "client-key-data",
                            "token", "exec", "auth-provider", "username", "password", "as-uid"}) {
    EXPECT_THAT(refusal({.user = std::string("{") + field + ": 'hunter2 hunter2'}"}),
                AllOf(HasSubstr(field), Not(HasSubstr("hunter2"))));
  }
  for (const char* field :
       {"server", "certificate-authority", "certificate-authority-data", "insecure-skip-tls-verify", "proxy-url"}) {
    EXPECT_THAT(refusal({.cluster = std::string("{server: a, ") + field + ": 'hunter2 hunter2'}"}), Not(HasSubstr("hunter2")))
        << field;
  }
  EXPECT_THAT(refusal({.cluster = "{server: 'https://user:hunter2@host'}"}), Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace nodeward::kube

// The include rule of docs/architecture.md, as a test: which folder may see which, where each library stops, that the build
// files agree, and that the folder map tells the truth. The rules are the tables below; nothing else needs a change.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace nodeward {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- The rules ----------------------------------------------------------------------------------------------------------------

struct FolderRule {
  std::string folder;  // below src/
  std::vector<std::string> may_include;  // a folder, or the start of a header's path
};

// Lowest first; a folder always sees itself. Unit tests see whatever their folder's row reaches in any number of steps.
const std::vector<FolderRule> kFolders = {
    {"base", {}},
    {"telemetry", {"base"}},
    {"cel", {"base"}},
    {"net", {"telemetry", "base"}},
    {"events", {"telemetry", "base"}},
    {"kube", {"net", "telemetry", "base"}},
    {"nodes", {"kube", "telemetry", "base"}},
    {"rules", {"events/event", "kube/objects", "cel", "base"}},
    {"labels", {"nodes", "kube", "cel", "telemetry", "base"}},
    {"quarantine", {"rules", "nodes", "events", "kube", "telemetry", "base"}},
    {"sim", {"kube/objects", "kube/merge_patch", "net", "telemetry", "base"}},
    {"config", {"rules", "quarantine", "labels", "events", "kube", "base"}},
    {"apps", {"config", "sim", "quarantine", "labels", "rules", "nodes", "kube", "events", "net", "cel", "telemetry", "base"}},
};

struct Fence {
  std::string header;  // what stands after '<', or the start of it
  std::vector<std::string> allowed;  // starts of paths below src/; unit tests are exempt
};

const std::vector<Fence> kFences = {
    {"CLI/", {"apps/"}},
    {"curl/", {"net/"}},
    {"fmt/", {""}},
    {"google/protobuf/", {"events/journal/"}},
    {"grpc/", {"events/journal/"}},
    {"grpcpp/", {"events/journal/"}},
    {"httplib.h", {"net/"}},
    {"libpq-fe.h", {"events/postgres/"}},
    {"nghttp2/", {"sim/"}},
    {"nlohmann/", {"base/json.h"}},
    {"openssl/", {"net/", "sim/"}},
    {"pqxx/", {"events/postgres/"}},
    {"prometheus/", {"telemetry/"}},
    {"re2/", {"cel/", "labels/"}},
    {"simdjson.h", {"kube/", "events/"}},
    {"spdlog/", {"telemetry/"}},
    {"sqlite3.h", {"events/journal/"}},
    {"tl/", {"base/", "apps/"}},
    {"toml++/", {"config/"}},
    {"yaml-cpp/", {"kube/config", "config/"}},
    {"zlib.h", {"telemetry/"}},
};

// Folders of the system's own headers; a header in another folder belongs to a library that the fences must name.
const std::set<std::string> kSystemFolders = {"arpa", "linux", "net", "netinet", "sys"};

// Decisions that can be tested and measured alone: neither these files nor what they are linked with see net or telemetry.
const std::vector<std::string> kPure = {"kube/objects",        "kube/symbol",     "kube/merge_patch", "nodes/node_patch",
                                        "nodes/taint",         "labels/wanted",   "labels/to_patch",  "labels/pod_table",
                                        "labels/dcgm_version", "quarantine/fold", "quarantine/plan",  "quarantine/record",
                                        "quarantine/tracking"};
const std::vector<std::string> kNotPure = {"net", "telemetry"};

// Texts that may stand only below these paths.
const std::vector<Fence> kWords = {
    {"merge-patch+json", {"nodes/", "sim/"}},  // nothing but nodes sends a node write
};

// ---- Reading ------------------------------------------------------------------------------------------------------------------

using Tree = std::map<std::string, std::string>;  // path below src/ -> text
using Problems = std::vector<std::string>;

struct Include {
  int line = 0;
  std::string header;
  bool angle = false;
};

std::vector<Include> includes_of(const std::string& text) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> found;
  std::istringstream lines(text);
  std::smatch match;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (std::regex_search(line, match, kInclude)) found.push_back({number, match[2], match[1] == "<"});
  }
  return found;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.find('/')); }
bool is_cpp(const std::string& path) { return path.ends_with(".h") || path.ends_with(".cc"); }
// Headers for tests only, by their names: what several tests share, and what stands in for the world outside.
bool is_fixture(const std::string& path) {
  static const std::regex kNames(
      R"(.+_fixture\.h|.+/test_[a-z0-9_]+\.h|kube/[a-z0-9_]+_script\.h)"
      R"(|base/fake_clock\.h|net/scripted_transport\.h|kube/config/temp_folder\.h|sim/fake_server\.h)");
  return std::regex_match(path, kNames);
}
bool is_test(const std::string& path) { return path.ends_with("_test.cc") || is_fixture(path); }
bool starts_with_any(const std::string& text, const std::vector<std::string>& starts) {
  return std::any_of(starts.begin(), starts.end(), [&](const std::string& start) { return text.starts_with(start); });
}

const FolderRule* rule_of(const std::string& folder) {
  const auto found = std::find_if(kFolders.begin(), kFolders.end(), [&](const auto& rule) { return rule.folder == folder; });
  return found == kFolders.end() ? nullptr : &*found;
}

bool may_include(const FolderRule& rule, const std::string& header) {
  const auto allows = [&](const std::string& allowed) {
    return allowed.find('/') == std::string::npos ? folder_of(header) == allowed : header.starts_with(allowed);
  };
  return std::any_of(rule.may_include.begin(), rule.may_include.end(), allows);
}

// The folders that `folder` reaches in any number of steps, itself included.
std::set<std::string> reach_of(const std::string& folder) {
  std::set<std::string> reached = {folder};
  if (const FolderRule* rule = rule_of(folder)) {
    for (const std::string& next : rule->may_include) reached.merge(reach_of(folder_of(next)));
  }
  return reached;
}

struct Target {
  std::string folder;
  std::vector<std::string> sources;  // paths below src/
  std::vector<std::string> links;
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// What the CMakeLists.txt files below src/ say: nw_library, nw_program (not nw_test) and target_link_libraries.
std::map<std::string, Target> targets_of(const Tree& tree) {
  static const std::regex kComment("#[^\n]*");
  static const std::regex kCommand(R"((nw_library|nw_program|target_link_libraries)\s*\(([^)]*)\))");
  std::map<std::string, Target> targets;
  for (const auto& [path, raw] : tree) {
    if (!path.ends_with("/CMakeLists.txt")) continue;
    const std::string text = std::regex_replace(raw, kComment, "");
    const std::string base = path.substr(0, path.rfind('/') + 1);
    for (std::sregex_iterator at(text.begin(), text.end(), kCommand), end; at != end; ++at) {
      const std::vector<std::string> words = words_of((*at)[2]);
      if (words.empty()) continue;
      Target& target = targets[words[0]];
      target.folder = folder_of(path);
      bool sources = false;
      for (auto word = words.begin() + 1; word != words.end(); ++word) {
        if (std::all_of(word->begin(), word->end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
          sources = *word == "SOURCES";
        } else if (sources) {
          target.sources.push_back(base + *word);
        } else {
          target.links.push_back(*word);
        }
      }
    }
  }
  return targets;
}

std::set<std::string> linked_folders(const std::map<std::string, Target>& targets, const std::string& name,
                                     std::set<std::string>& seen) {
  std::set<std::string> folders;
  const auto found = targets.find(name);
  if (found == targets.end() || !seen.insert(name).second) return folders;  // a library from outside
  folders.insert(found->second.folder);
  for (const std::string& link : found->second.links) folders.merge(linked_folders(targets, link, seen));
  return folders;
}

std::set<std::string> linked_folders(const std::map<std::string, Target>& targets, const std::string& name) {
  std::set<std::string> seen;
  return linked_folders(targets, name, seen);
}

// ---- The checks: each gives one sentence per breach ----------------------------------------------------------------------------

Problems check_folders(const Tree& tree) {
  Problems problems;
  for (const auto& [path, text] : tree) {
    if (!is_cpp(path)) continue;
    const std::string folder = folder_of(path);
    const FolderRule* rule = rule_of(folder);
    if (rule == nullptr) {
      problems.push_back(fmt::format("{}: folder {} has no row in tests/layering", path, folder));
      continue;
    }
    const std::set<std::string> reach = reach_of(folder);
    for (const Include& include : includes_of(text)) {
      if (is_fixture(include.header) && !is_test(path))
        problems.push_back(fmt::format("{}:{}: includes {}, which is for tests", path, include.line, include.header));
      if (include.angle || folder_of(include.header) == folder || may_include(*rule, include.header)) continue;
      if (is_test(path) && reach.contains(folder_of(include.header))) continue;
      problems.push_back(fmt::format("{}:{}: includes {}; {} may include only: {}", path, include.line, include.header, folder,
                                     fmt::join(rule->may_include, ", ")));
    }
  }
  return problems;
}

Problems check_libraries(const Tree& tree) {
  Problems problems;
  for (const auto& [path, text] : tree) {
    if (!is_cpp(path) || is_test(path)) continue;
    for (const Include& include : includes_of(text)) {
      if (!include.angle) continue;
      const auto fence = std::find_if(kFences.begin(), kFences.end(),
                                      [&](const Fence& one) { return include.header.starts_with(one.header); });
      const bool in_folder = include.header.find('/') != std::string::npos;
      if (fence == kFences.end() && in_folder && !kSystemFolders.contains(folder_of(include.header))) {
        problems.push_back(
            fmt::format("{}:{}: includes <{}>, of a library that no fence names", path, include.line, include.header));
      } else if (fence != kFences.end() && !starts_with_any(path, fence->allowed)) {
        problems.push_back(fmt::format("{}:{}: includes <{}>, which belongs to: {}", path, include.line, include.header,
                                       fmt::join(fence->allowed, ", ")));
      }
    }
  }
  return problems;
}

Problems check_links(const Tree& tree) {
  Problems problems;
  const std::map<std::string, Target> targets = targets_of(tree);
  for (const auto& [name, target] : targets) {
    const FolderRule* rule = rule_of(target.folder);
    for (const std::string& link : target.links) {
      const auto other = targets.find(link);
      if (rule == nullptr || other == targets.end() || other->second.folder == target.folder) continue;
      const auto names_folder = [&](const std::string& allowed) { return folder_of(allowed) == other->second.folder; };
      if (std::none_of(rule->may_include.begin(), rule->may_include.end(), names_folder)) {
        problems.push_back(fmt::format("target {} links {}; {} may link only: {}", name, link, target.folder,
                                       fmt::join(rule->may_include, ", ")));
      }
    }
    const std::set<std::string> linked = linked_folders(targets, name);
    for (const std::string& source : target.sources) {
      const auto text = tree.find(source);
      if (text == tree.end()) continue;
      for (const Include& include : includes_of(text->second)) {
        if (include.angle || linked.contains(folder_of(include.header))) continue;
        problems.push_back(fmt::format("{}:{}: includes {}, but target {} links nothing of {}", source, include.line,
                                       include.header, name, folder_of(include.header)));
      }
    }
  }
  return problems;
}

Problems check_pure(const Tree& tree) {
  Problems problems;
  const std::map<std::string, Target> targets = targets_of(tree);
  for (const auto& [path, text] : tree) {
    if (!is_cpp(path) || is_test(path) || !starts_with_any(path, kPure)) continue;
    for (const Include& include : includes_of(text)) {
      if (include.angle || !starts_with_any(folder_of(include.header), kNotPure)) continue;
      problems.push_back(fmt::format("{}:{}: includes {}; this part is pure", path, include.line, include.header));
    }
  }
  for (const auto& [name, target] : targets) {
    const bool pure = std::any_of(target.sources.begin(), target.sources.end(),
                                  [](const std::string& source) { return starts_with_any(source, kPure); });
    if (!pure) continue;
    const std::set<std::string> linked = linked_folders(targets, name);
    for (const std::string& folder : kNotPure) {
      if (linked.contains(folder)) problems.push_back(fmt::format("target {} holds a pure part and links {}", name, folder));
    }
  }
  return problems;
}

Problems check_words(const Tree& tree) {
  Problems problems;
  for (const auto& [path, text] : tree) {
    if (!is_cpp(path) || is_test(path)) continue;
    for (const Fence& word : kWords) {
      if (text.find(word.header) == std::string::npos || starts_with_any(path, word.allowed)) continue;
      problems.push_back(fmt::format("{}: says {}, which belongs to: {}", path, word.header, fmt::join(word.allowed, ", ")));
    }
  }
  return problems;
}

// Folders that are built; apps is a folder of folders.
std::set<std::string> built_folders(const Tree& tree) {
  std::set<std::string> folders;
  for (const auto& [path, text] : tree) {
    if (path.ends_with("/CMakeLists.txt")) folders.insert(path.substr(0, path.rfind('/')));
  }
  return folders;
}

// The rows "| 3 | `kube` | ..." of the page's folder map.
std::set<std::string> mapped_folders(const std::string& page) {
  static const std::regex kRow(R"(\n\|\s*\d+\s*\|\s*`([a-z_/]+)`)");
  std::set<std::string> folders;
  for (std::sregex_iterator at(page.begin(), page.end(), kRow), end; at != end; ++at) folders.insert((*at)[1]);
  return folders;
}

Problems check_map(const Tree& tree, const std::string& page) {
  Problems problems;
  const std::set<std::string> mapped = mapped_folders(page);
  for (const std::string& folder : built_folders(tree)) {
    if (!mapped.contains(folder)) problems.push_back(fmt::format("src/{}: no row in the folder map", folder));
    if (!tree.contains(folder + "/README.md")) problems.push_back(fmt::format("src/{}: no README.md", folder));
  }
  for (const std::string& folder : mapped) {
    const bool there = std::any_of(tree.begin(), tree.end(),
                                   [&](const auto& file) { return file.first.starts_with(folder + "/"); });
    if (!there) problems.push_back(fmt::format("the folder map has {}, but there is no src/{}", folder, folder));
  }
  return problems;
}

// ---- The tests ----------------------------------------------------------------------------------------------------------------

Tree read_source() {
  const std::filesystem::path root = std::filesystem::path(NW_SOURCE_DIR) / "src";
  Tree tree;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    tree[std::filesystem::relative(entry.path(), root).string()] = read_file(entry.path()).value();
  }
  return tree;
}

const Tree& source() {
  static const Tree tree = read_source();
  return tree;
}

std::string listed(const Problems& problems) { return fmt::format("{}", fmt::join(problems, "\n")); }

TEST(Layering, TheSourceIsFound) { EXPECT_TRUE(source().contains("base/error.h")); }
TEST(Layering, FoldersIncludeOnlyWhatTheirRowNames) { EXPECT_EQ(listed(check_folders(source())), ""); }
TEST(Layering, LibrariesStopAtTheirFence) { EXPECT_EQ(listed(check_libraries(source())), ""); }
TEST(Layering, BuildFilesRepeatTheIncludeRule) { EXPECT_EQ(listed(check_links(source())), ""); }
TEST(Layering, PurePartsSeeNeitherNetNorTelemetry) { EXPECT_EQ(listed(check_pure(source())), ""); }
TEST(Layering, OnlyNodesCanSendANodeWrite) { EXPECT_EQ(listed(check_words(source())), ""); }
TEST(Layering, TheFolderMapIsTrue) {
  const std::string page = read_file(std::filesystem::path(NW_SOURCE_DIR) / "docs/architecture.md").value();
  EXPECT_EQ(listed(check_map(source(), page)), "");
}

// The checks themselves, on small trees that break each rule.
TEST(LayeringCheck, SeesAnIncludeThatGoesUp) {
  EXPECT_THAT(check_folders({{"kube/a.cc", "#include <vector>\n#include \"nodes/writer.h\"\n"}}),
              ElementsAre("kube/a.cc:2: includes nodes/writer.h; kube may include only: net, telemetry, base"));
  EXPECT_THAT(check_folders({{"kube/a.cc", "#include \"net/http.h\"\n#include \"kube/b.h\"\n#include \"base/error.h\"\n"}}),
              IsEmpty());
}

TEST(LayeringCheck, SeesAStepThatIsSkipped) {
  EXPECT_THAT(check_folders({{"nodes/a.cc", "#include \"net/http.h\"\n"}}), ElementsAre(HasSubstr("nodes may include only")));
  EXPECT_THAT(check_folders({{"nodes/a_test.cc", "#include \"net/scripted_transport.h\"\n"}}), IsEmpty());
  EXPECT_THAT(check_folders({{"nodes/a_test.cc", "#include \"labels/plan.h\"\n"}}), ElementsAre(HasSubstr("labels/plan.h")));
}

TEST(LayeringCheck, AFixtureIsPartOfItsTestsAndOfNothingElse) {
  EXPECT_THAT(check_folders({{"nodes/a_fixture.h", "#include \"net/scripted_transport.h\"\n"},
                             {"nodes/a_test.cc", "#include \"nodes/a_fixture.h\"\n"}}),
              IsEmpty());
  EXPECT_THAT(check_folders({{"nodes/a.cc", "#include \"nodes/a_fixture.h\"\n"}}), ElementsAre(HasSubstr("is for tests")));
  for (const char* header : {"net/test_h2_server.h", "net/scripted_transport.h", "kube/reflector_script.h",
                             "kube/config/temp_folder.h", "base/fake_clock.h"}) {
    const std::string text = fmt::format("#include \"{}\"\n", header);
    EXPECT_THAT(check_folders({{"kube/a.cc", text}}), ElementsAre(HasSubstr("is for tests"))) << header;
    EXPECT_THAT(check_folders({{"kube/a_test.cc", text}, {"kube/b_fixture.h", text}}), IsEmpty()) << header;
  }
  EXPECT_THAT(check_folders({{"sim/faults.h", "#include \"sim/fault_script.h\"\n"}}), IsEmpty());
}

TEST(LayeringCheck, SeesAPartOfAFolderThatIsNotShared) {
  EXPECT_THAT(check_folders({{"rules/a.cc", "#include \"kube/objects.h\"\n"}}), IsEmpty());
  EXPECT_THAT(check_folders({{"rules/a.cc", "#include \"kube/client.h\"\n"}}), ElementsAre(HasSubstr("kube/client.h")));
}

TEST(LayeringCheck, SeesAFolderWithoutARow) {
  EXPECT_THAT(check_folders({{"misc/a.cc", ""}}), ElementsAre("misc/a.cc: folder misc has no row in tests/layering"));
}

TEST(LayeringCheck, SeesALibraryOutsideItsFence) {
  EXPECT_THAT(check_libraries({{"kube/a.cc", "  #  include <curl/curl.h>\n"}}),
              ElementsAre("kube/a.cc:1: includes <curl/curl.h>, which belongs to: net/"));
  EXPECT_THAT(check_libraries({{"base/other.h", "#include <nlohmann/json.hpp>\n"}}), ElementsAre(HasSubstr("base/json.h")));
  EXPECT_THAT(check_libraries({{"net/a.cc", "#include <curl/curl.h>\n#include <sys/socket.h>\n#include <map>\n"},
                               {"kube/config.cc", "#include <yaml-cpp/yaml.h>\n"},
                               {"kube/a_test.cc", "#include <curl/curl.h>\n"}}),
              IsEmpty());
}

TEST(LayeringCheck, SeesALibraryThatNobodyAgreedOn) {
  EXPECT_THAT(check_libraries({{"base/a.cc", "#include <boost/asio.hpp>\n"}}), ElementsAre(HasSubstr("no fence names")));
}

TEST(LayeringCheck, SeesALinkThatGoesUp) {
  EXPECT_THAT(check_links({{"net/CMakeLists.txt", "nw_library(net SOURCES a.cc LINKS base kube # why\n PRIVATE CURL::libcurl)"},
                           {"kube/CMakeLists.txt", "nw_library(kube SOURCES b.cc LINKS base)"}}),
              ElementsAre("target net links kube; net may link only: telemetry, base"));
  EXPECT_THAT(check_links({{"net/CMakeLists.txt", "nw_library(net SOURCES a.cc)\ntarget_link_libraries(net PRIVATE kube)"},
                           {"kube/CMakeLists.txt", "nw_library(kube SOURCES b.cc)"}}),
              ElementsAre(HasSubstr("target net links kube")));
}

TEST(LayeringCheck, SeesAnIncludeWithoutALink) {
  const Tree tree = {{"kube/CMakeLists.txt", "nw_library(kube SOURCES a.cc LINKS base)"},
                     {"kube/a.cc", "#include \"net/http.h\"\n"},
                     {"net/CMakeLists.txt", "nw_library(net SOURCES b.cc LINKS base)"},
                     {"base/CMakeLists.txt", "nw_library(base SOURCES c.cc)"}};
  EXPECT_THAT(check_links(tree), ElementsAre("kube/a.cc:1: includes net/http.h, but target kube links nothing of net"));
}

TEST(LayeringCheck, SeesAPurePartThatReachesTheNet) {
  EXPECT_THAT(check_pure({{"nodes/node_patch.cc", "#include \"telemetry/log.h\"\n"}}),
              ElementsAre(HasSubstr("this part is pure")));
  EXPECT_THAT(check_pure({{"nodes/CMakeLists.txt", "nw_library(node_patch SOURCES node_patch.cc LINKS kube)"},
                          {"kube/CMakeLists.txt", "nw_library(kube SOURCES a.cc LINKS net)"},
                          {"net/CMakeLists.txt", "nw_library(net SOURCES b.cc)"}}),
              ElementsAre("target node_patch holds a pure part and links net"));
}

TEST(LayeringCheck, SeesASecondPlaceThatWritesNodes) {
  EXPECT_THAT(check_words({{"labels/a.cc", "\"application/merge-patch+json\""}}), ElementsAre(HasSubstr("belongs to: nodes/")));
  EXPECT_THAT(check_words({{"nodes/a.cc", "\"application/merge-patch+json\""}}), IsEmpty());
}

TEST(LayeringCheck, SeesAMapThatDoesNotMatchTheFolders) {
  const Tree tree = {{"kube/CMakeLists.txt", ""}, {"base/CMakeLists.txt", ""}, {"base/README.md", ""}};
  EXPECT_THAT(check_map(tree, "\n| 0 | `base` | words | nothing |\n| 2 | `net` | bytes | base |\n"),
              ElementsAre("src/kube: no row in the folder map", "src/kube: no README.md",
                          "the folder map has net, but there is no src/net"));
}

}  // namespace
}  // namespace nodeward

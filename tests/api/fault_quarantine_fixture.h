// fault-quarantine on the real API server: events go in as lines of a file that it follows, what became of them comes out of its
// outcomes, and the server's own counters say what it asked for. Each test begins without nodes. Main thread.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "api/controller_process.h"

namespace nodeward::api {

// A line of tests/data/examples/events.jsonl by its name, and the event within it.
Json example_event(std::string_view name);
Json& event_of(Json& line);
// Another line with the event changed so that it says: the whole check of this event is healthy again.
Json recovery_of(Json line);
Json example_node(std::string_view name);  // of tests/data/examples/nodes.json
std::vector<Json> lines_of(const std::string& file);  // a file of JSON lines below tests/data

// A node as it was read once, in the terms of fault-quarantine.
class FaultNode {
 public:
  explicit FaultNode(Json node) : node_(std::move(node)) {}
  bool cordoned() const { return node_["spec"].value("unschedulable", false); }
  std::string taints() const;  // "key=value:effect, ..." in their order
  std::optional<std::string> label(std::string_view key) const { return text_of("labels", key); }
  std::optional<std::string> annotation(std::string_view key) const { return text_of("annotations", key); }
  std::vector<Json> tracked() const;  // the failures on record
  // What a quarantine leaves on a node and a release must take off: keys of annotations, then of labels.
  std::vector<std::string> traces() const;
  const Json& json() const { return node_; }

 private:
  std::optional<std::string> text_of(const char* member, std::string_view key) const;
  Json node_;
};

class FaultQuarantineOnTheServer : public ClusterTest {
 protected:
  enum class Input { kFollowed, kEnds };

  void SetUp() override;
  void TearDown() override;

  void create_examples();                                    // the example nodes
  void start(const std::string& rules = "examples/fault-quarantine.toml");    // ready; the file is below tests/data
  void launch(const std::vector<std::string>& flags);        // at once, with these flags behind --kubeconfig-path
  std::vector<std::string> flags(Input input, const std::filesystem::path& rules) const;
  static std::filesystem::path example_rules();
  ControllerProcess& controller() { return *controller_; }
  int stop();                                                // the exit code

  // Appends a line (no newline in it) to the events; its number.
  int append(const std::string& text);
  int append(const Json& event) { return append(to_text(event)); }
  int append_lines(const std::string& text, int lines);      // several, each with its newline; the number of the first
  Json outcome(int line);                                    // waits for it
  const std::map<int, Json>& outcomes();                     // so far, by line
  // Appends, waits, and gives the outcome.
  Json send(const Json& event) { return outcome(append(event)); }
  // The status: "Quarantined", "-" for none.
  std::string status(const Json& event);
  std::string status(const char* example) { return status(example_event(example)); }

  FaultNode node(const std::string& name) { return FaultNode(admin().node(name)); }
  // PATCHes of nodes since the last call, or since the start. Expects that no node was read alone or put.
  long writes();
  Counters asked();                                          // since the last call, or since the start

  std::filesystem::path folder_;                             // of this test
  std::filesystem::path events() const { return folder_ / "events.jsonl"; }

 private:
  std::filesystem::path outcome_file() const { return folder_ / "outcomes.jsonl"; }

  std::unique_ptr<ControllerProcess> controller_;
  int lines_ = 0;
  std::map<int, Json> outcomes_;
  std::size_t outcomes_read_ = 0;  // bytes
  Counters seen_;
};

}  // namespace nodeward::api

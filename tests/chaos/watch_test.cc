// A watch over a real connection to a simulated server: a path that dies without a word (R08), lists and events cut as the network
// cuts them (R13, R14, R33; every case of theirs is in src/kube). In process, with the waits of the script and of the client
// shortened alike; the long form runs the program with its own.
#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "base/text.h"
#include "chaos/program_on_sim.h"
#include "kube/reflector.h"
#include "net/curl_transport.h"

namespace nodeward::chaos {
namespace {

using testing::ElementsAre;

// What a reflector puts away, seen from the test's thread.
class Kept final : public kube::Sink<kube::Node> {
 public:
  void list_begins() override {}
  void apply(kube::Node node) override {
    change([&] {
      words_.push_back("+" + node.name.str() + " " + node.version.str());
      nodes_[node.name.str()] = std::move(node);
    });
  }
  void remove(const kube::Node& last) override {
    change([&] {
      words_.push_back("-" + last.name.str());
      nodes_.erase(last.name.str());
    });
  }
  void unreadable(const kube::Node&) override {}
  void list_ends(const kube::ResourceVersion&) override {
    change([&] { ++lists_; });
  }
  template <class Holds>
  bool comes(Holds holds, Duration patience = 20s) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return holds(nodes_, lists_); });
  }
  std::vector<std::string> words() {  // what came, in order
    const std::lock_guard lock(mutex_);
    return words_;
  }

 private:
  template <class Fn>
  void change(Fn fn) {
    const std::lock_guard lock(mutex_);
    fn();
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, kube::Node> nodes_;
  std::vector<std::string> words_;
  int lists_ = 0;
};
using Nodes = std::map<std::string, kube::Node>;

class WatchOnSim : public ProgramOnSim {
 protected:
  void watch(net::Liveness liveness = {}) {
    transport_ = net::make_curl_transport({.origin = sim_->origin(), .ca_pem = sim_->ca_pem(), .liveness = liveness});
    client_ = std::make_unique<kube::Client>(
        *transport_, kube::ClientOptions{.authorization = [this](const auto&) { return "Bearer " + sim_->token(); }},
        Clock::real());
    reflector_ = std::make_unique<kube::Reflector<kube::Node>>(
        *client_, kube::Resource{.name = "nodes", .path = "/api/v1/nodes"},
        kube::make_node_decoder({.labels = {true, {}}, .annotations = {true, {}}, .spec = true}), kept_, Clock::real());
    thread_ = std::jthread([this](const std::stop_token& stop) { reflector_->run(stop); });
    ASSERT_TRUE(kept_.comes([](const Nodes&, int lists) { return lists == 1; }));
  }
  void TearDown() override {
    thread_ = {};
    ProgramOnSim::TearDown();
  }
  Kept kept_;

 private:
  std::unique_ptr<net::Transport> transport_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::Reflector<kube::Node>> reflector_;
  std::jthread thread_;
};

// ---- R08 --------------------------------------------------------------------------------------------------------------------------

class R08 : public WatchOnSim {
 protected:
  static constexpr int kFaster = 20;
  static constexpr net::Liveness kShort{.silence = Duration(30s) / kFaster, .answer = Duration(10s) / kFaster};

  std::vector<sim::Asked> watches() const { return faults_->asked("WATCH", "/api/v1/nodes"); }
  std::size_t reads() const { return watches().size() + faults_->asked("LIST", "/api/v1/nodes").size(); }

  void find_dead_path_with_the_program(const sim::FaultScript& dead) {
    serve(dead);
    start();
    controller().await_ready();
    const Duration last_byte = watches().at(0).at + 10s;
    play(dead);
    await_quarantined("gpu-a-017", 60s);
    controller().await(
        "a new watch", [&] { return watches().size() > 1; }, 45s);
    EXPECT_LE(watches().at(1).at - last_byte, 45s);
  }
  void leave_quiet_watch_alone_with_the_program(const sim::FaultScript& quiet) {
    serve(quiet);
    start();
    controller().await_ready();
    const auto before = reads();
    sleep_until(20min);
    EXPECT_EQ(reads(), before);
  }
};

TEST_F(R08, ADeadPathIsFoundAndWhatWasMissedIsRead) {
  const auto script = this->script("silent-watch");
  if (is_long()) return find_dead_path_with_the_program(script);
  const auto dead = script.stretched(1.0 / kFaster);
  serve(dead);
  watch(kShort);
  const Duration last_byte = watches().at(0).at;
  sleep_until(dead.timeline.at(0).at);
  const auto& patch = std::get<sim::PatchNode>(dead.timeline.at(0).act);
  change(patch.node, patch.change);
  EXPECT_TRUE(
      kept_.comes([](const Nodes& nodes, int) { return nodes.at("gpu-a-017").labels.get("team.example.org/owner") == "green"; }));
  ASSERT_EQ(watches().size(), 2U);
  EXPECT_LE(watches().at(1).at - last_byte, Duration(45s) / kFaster);
}

TEST_F(R08, AWatchThatIsQuietAndAliveIsLeftAlone) {
  auto quiet = script("silent-watch");
  quiet.rules.clear();
  if (is_long()) return leave_quiet_watch_alone_with_the_program(quiet);
  serve(quiet);
  watch(kShort);
  sleep_until(4s);  // 80 s
  EXPECT_EQ(reads(), 1U);
  EXPECT_GE(faults_->asked("GET", "/livez").size(), 2U);
  change("gpu-a-017", {.labels = {{"late", "yes"}}});
  EXPECT_TRUE(kept_.comes([](const Nodes& nodes, int) { return nodes.at("gpu-a-017").labels.get("late") == "yes"; }, 1s));
}

// ---- R14: the bytes of a watch, cut anywhere -----------------------------------------------------------------------------------------

// Gives one piece at a time, each in a DATA frame of its own, and ends.
class Pieces final : public sim::wire::Body {
 public:
  explicit Pieces(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}
  More fill(std::string& out, std::size_t) override {
    if (next_ < pieces_.size()) out += pieces_[next_++];
    return next_ < pieces_.size() ? More::kYes : More::kEnd;
  }

 private:
  const std::vector<std::string> pieces_;
  std::size_t next_ = 0;
};

class R14 : public WatchOnSim {
 protected:
  // A server without streaming lists and without nodes, whose first watch is these pieces; the next one stays quiet.
  void watch_pieces(std::vector<std::string> pieces) {
    serve({});
    faults_.reset();
    sim_->set_filter([this, pieces = std::move(pieces)](const auto& exchange, const auto& next) {
      const std::string& target = exchange->request().target;
      if (target.find("watch=") == std::string::npos) return next(exchange);
      if (target.find("sendInitialEvents") != std::string::npos) return exchange->answer({.status = 422});
      resumed_from_ = target;
      if (!std::exchange(watched_, true)) return exchange->answer({.stream = std::make_unique<Pieces>(pieces)});
    });
    watch();
  }
  std::string resumed_from() {  // the target of the last watch
    return sim_->run_on_loop([this](sim::ApiServer&) { return resumed_from_; });
  }
  void expect_the_six_events() {
    ASSERT_TRUE(kept_.comes([](const Nodes& nodes, int) { return nodes.contains("gpu-w-3"); }));
    EXPECT_THAT(kept_.words(), ElementsAre("+gpu-w-1 11", "+gpu-w-1 12", "+gpu-w-2 13", "-gpu-w-1", "+gpu-w-3 42"));
    EXPECT_TRUE(kept_.comes(
        [](const Nodes& nodes, int) { return nodes.at("gpu-w-2").annotations.get("example.org/text") == "größe · 温度 · 🧯"; }));
    api::await("the watch is resumed", [this] { return resumed_from().find("resourceVersion=42&") != std::string::npos; });
  }
  static std::string stream() { return read_file(data("watch/stream.jsonl")).value(); }

 private:
  std::string resumed_from_;
  bool watched_ = false;
};

TEST_F(R14, OneByteInEachFrame) {
  std::vector<std::string> bytes;
  for (const char byte : stream()) bytes.emplace_back(1, byte);
  watch_pieces(bytes);
  expect_the_six_events();
}

TEST_F(R14, AtEveryPlaceOfTheListAtOnce) {
  const Json cuts = parse_json(read_file(data("watch/stream-cuts.json")).value()).value();
  std::set<std::size_t> places;
  for (const Json& list : cuts["cuts"]) {
    if (list.is_array()) places.insert(list.begin(), list.end());
  }
  std::vector<std::string> pieces;
  const std::string all = stream();
  std::size_t begin = 0;
  for (const std::size_t place : places) pieces.push_back(all.substr(begin, place - begin)), begin = place;
  pieces.push_back(all.substr(begin));
  watch_pieces(pieces);
  expect_the_six_events();
}

TEST_F(R14, ALineOf1600000LettersIsHereWithinASecond) {
  const std::string letters(1'600'000, 'a');
  const std::string big = R"({"type":"MODIFIED","object":{"apiVersion":"v1","kind":"Node","metadata":{"name":"gpu-w-2",)"
                          R"("resourceVersion":"50","annotations":{"example.org/big":")" +
                          letters + "\"}}}}\n";
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < big.size(); at += 16'384) pieces.push_back(big.substr(at, 16'384));
  watch_pieces(pieces);
  EXPECT_TRUE(kept_.comes(
      [&](const Nodes& nodes, int) {
        return nodes.contains("gpu-w-2") && nodes.at("gpu-w-2").annotations.get("example.org/big") == letters;
      },
      1s));
}

}  // namespace
}  // namespace nodeward::chaos

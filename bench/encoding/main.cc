// What the same nodes and pods cost in JSON and in protobuf, on a real API server: the CPU of the server, the bytes, our own CPU,
// for a list in pages, a streaming list, a watch, and the answer to a PATCH. The encodings take turns. Prints a table; exits 1 when
// it could not measure.
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <stdexcept>
#include <thread>

#include "api/real_cluster.h"
#include "kube/client.h"
#include "kube/protobuf_splitters.h"
#include "kube/reflector.h"
#include "net/curl_transport.h"
#include "writes/figures.h"
#include "writes/fleet.h"
#include "writes/process.h"
#include "writes/raw_client.h"

namespace nodeward::bench {
namespace {

using kube::Encoding;

struct Options {
  int nodes = 2000;
  int rounds = 5;
  int repeats = 3;  // of a list or a watch in one round: the kernel counts the server's CPU in steps of 10 ms
};

double own_cpu_ms() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1000 + static_cast<double>(time.tv_usec) / 1000;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

template <class T>
T take(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}
void take(const Result<>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

// Asks for the whole of a node and looks at the metadata: what fault-quarantine would have from another encoding.
class WholeNodes final : public kube::Decoder<kube::Node> {
 public:
  explicit WholeNodes(std::unique_ptr<kube::Decoder<kube::Node>> metadata) : metadata_(std::move(metadata)) {}
  kube::Detail detail() const override { return kube::Detail::kWhole; }
  Result<kube::Node> object(std::string_view bytes) override { return metadata_->object(bytes); }
  Result<kube::WatchEvent<kube::Node>> event(std::string_view bytes) override { return metadata_->event(bytes); }
  kube::Node who(std::string_view bytes) override { return metadata_->who(bytes); }

 private:
  const std::unique_ptr<kube::Decoder<kube::Node>> metadata_;
};

// One of our reads, as the reflector makes it, up to the decoded records.
template <class T>
class Reading {
 public:
  Reading(kube::Client& client, kube::Resource resource, Encoding encoding, std::unique_ptr<kube::Decoder<T>> decoder)
      : client_(client), resource_(std::move(resource)), encoding_(encoding), decoder_(std::move(decoder)) {}

  std::size_t bytes() const { return bytes_; }

  // Both return how many objects there are.
  std::size_t pages() {
    std::size_t objects = 0;
    kube::ListMeta meta;
    do {
      const auto stream = open(kube::list_path(resource_, 500, meta.continue_token),
                               kube::accept_list(decoder_->detail(), encoding_));
      kube::ListSplitter items(encoding_);
      while (const auto chunk = read(*stream)) {
        take(items.feed(*chunk, [&](std::string_view item) -> Result<> {
          NW_TRY_ASSIGN(const T object, decoder_->object(item));
          ++objects;
          return {};
        }));
      }
      if (!items.complete()) throw std::runtime_error("a list broke off");
      meta = take(items.meta());
    } while (!meta.continue_token.empty());
    version_ = meta.version;
    return objects;
  }
  std::size_t streaming_list() {
    std::size_t objects = 0;
    bool all = false;
    events(kube::streaming_list_path(resource_, 600), [&](const kube::WatchEvent<T>& event) {
      const auto* mark = std::get_if<kube::Bookmark>(&event.what);
      if (mark == nullptr) ++objects;
      all = mark != nullptr && mark->initial_end;
      return !all;
    });
    return objects;
  }
  // The next `count` events after a version: the server has them in memory, so that nothing is written meanwhile.
  void watch(const kube::ResourceVersion& from, std::size_t count) {
    events(kube::watch_path(resource_, from, 600), [&](const kube::WatchEvent<T>& event) {
      return !std::holds_alternative<kube::Applied<T>>(event.what) || --count != 0;
    });
  }
  const kube::ResourceVersion& version() const { return version_; }  // of the last list in pages

 private:
  template <class OnEvent>  // false: enough
  void events(const std::string& path, OnEvent&& on_event) {
    const auto stream = open(path, kube::accept_object(decoder_->detail(), encoding_));
    kube::EventSplitter splitter(encoding_);
    bool more = true;
    while (more) {
      const auto chunk = read(*stream);
      if (!chunk) throw std::runtime_error("a watch ended early");
      take(splitter.feed(*chunk, [&](std::string_view bytes) -> Result<> {
        NW_TRY_ASSIGN(const auto event, decoder_->event(bytes));
        if (const auto* failed = std::get_if<kube::WatchFailed>(&event.what)) return tl::unexpected(failed->error);
        if (more) more = on_event(event);
        return {};
      }));
    }
  }
  std::unique_ptr<net::Stream> open(const std::string& path, std::string accept) {
    auto stream = take(client_.open({.path = path, .headers = {{"Accept", std::move(accept)}}}, {}));
    if (kube::encoding_of(stream->header("content-type")) != encoding_)
      throw std::runtime_error("the server chose another encoding");
    return stream;
  }
  std::optional<std::string> read(net::Stream& stream) {
    auto chunk = take(stream.read(std::chrono::seconds(30), {}));
    if (chunk) bytes_ += chunk->size();
    return chunk;
  }

  kube::Client& client_;
  const kube::Resource resource_;
  const Encoding encoding_;
  const std::unique_ptr<kube::Decoder<T>> decoder_;
  kube::ResourceVersion version_;
  std::size_t bytes_ = 0;
};

// What is measured, in one encoding: `run` makes it once and returns its bytes.
struct Side {
  std::function<std::size_t()> run;
  std::vector<double> server_ms = {}, own_ms = {};
  double bytes = 0;
};
struct Row {
  std::string measure;
  Side json, protobuf;
};

class Measurement {
 public:
  explicit Measurement(Options options) : options_(options) {}

  void run() {
    const Fleet fleet = make_fleet(1, options_.nodes);
    names_ = fleet.names;
    fmt::print(stderr, "making {} nodes and {} pods\n", fleet.nodes.size(), fleet.pods.size());
    cluster_.admin().create_nodes(fleet.nodes);
    cluster_.admin().create_pods(fleet.pods);
    const kube::NodeSelection labels{.labels = {.all = false, .keys = {"nvidia.com/gpu.present", "bench"}}};
    const auto nodes = [=](Encoding encoding) { return kube::make_node_decoder(labels, encoding); };
    const auto whole = [=](Encoding encoding) { return std::make_unique<WholeNodes>(nodes(encoding)); };
    const auto pods = [](Encoding encoding) { return kube::make_pod_decoder(encoding); };
    const kube::Resource of_nodes{"nodes", "/api/v1/nodes"};
    const kube::Resource of_pods{"pods", "/api/v1/pods"};
    const kube::ResourceVersion nodes_before = version<kube::Node>(of_nodes, nodes);
    change_nodes();
    const kube::ResourceVersion pods_before = version<kube::Pod>(of_pods, pods);
    change_pods();
    add_rows<kube::Node>("nodes as metadata", of_nodes, nodes, nodes_before);
    add_rows<kube::Node>("whole nodes", of_nodes, whole, nodes_before);
    add_rows<kube::Pod>("pods", of_pods, pods, pods_before);
    for (int round = 1; round <= options_.rounds; ++round) {
      fmt::print(stderr, "round {}\n", round);
      for (Row& row : rows_) {
        measure(row.json);
        measure(row.protobuf);
      }
    }
    // Last: they push the events of the watches out of the server's memory.
    for (int round = 1; round <= options_.rounds; ++round) measure_answers();
    print();
  }

 private:
  template <class T, class MakeDecoder>
  Reading<T> reading(const kube::Resource& resource, const MakeDecoder& decoder, Encoding encoding) {
    return Reading<T>(client_, resource, encoding, decoder(encoding));
  }
  template <class T, class MakeDecoder>
  kube::ResourceVersion version(const kube::Resource& resource, const MakeDecoder& decoder) {
    auto list = reading<T>(resource, decoder, Encoding::kJson);
    list.pages();
    return list.version();
  }

  void change_nodes() { patch_nodes(cluster_, names_, {.body = R"({"metadata":{"labels":{"bench":"1"}}})"}); }
  void change_pods() {
    for (const std::string& name : names_) {
      const auto answer = cluster_.admin().merge_patch("/api/v1/namespaces/gpu-operator/pods/dcgm-" + name,
                                                       {{"metadata", {{"labels", {{"bench", "1"}}}}}});
      if (answer.status != 200) throw std::runtime_error("a pod was not changed: " + answer.body);
    }
  }

  template <class T, class MakeDecoder>
  void add_rows(const std::string& what, const kube::Resource& resource, const MakeDecoder& decoder,
                const kube::ResourceVersion& before) {
    const auto side = [=, this](Encoding encoding, auto&& read) {
      return Side{[=, this] {
        auto one = reading<T>(resource, decoder, encoding);
        read(one);
        return one.bytes();
      }};
    };
    const auto add = [&](const char* how, auto&& read) {
      rows_.push_back({what + ", " + how, side(Encoding::kJson, read), side(Encoding::kProtobuf, read)});
    };
    add("list in pages", [](Reading<T>& one) { one.pages(); });
    add("streaming list", [](Reading<T>& one) { one.streaming_list(); });
    add("watch", [before, count = names_.size()](Reading<T>& one) { one.watch(before, count); });
  }

  void measure(Side& side) {
    const double server = cpu_seconds(cluster_.api_server_pid());
    const double own = own_cpu_ms();
    for (int i = 0; i < options_.repeats; ++i) side.bytes = static_cast<double>(side.run());
    side.own_ms.push_back((own_cpu_ms() - own) / options_.repeats);
    side.server_ms.push_back((cpu_seconds(cluster_.api_server_pid()) - server) * 1000 / options_.repeats);
  }

  // The client throws them away, so that its own CPU is only that of the wire.
  void measure_answers() {
    for (const Encoding encoding : {Encoding::kJson, Encoding::kProtobuf}) {
      Side& side = encoding == Encoding::kJson ? answers_.json : answers_.protobuf;
      const double server = cpu_seconds(cluster_.api_server_pid());
      const double own = own_cpu_ms();
      const RawRun run = patch_nodes(cluster_, names_,
                                     {.body = fmt::format(R"({{"metadata":{{"labels":{{"bench":"{}"}}}}}})", ++patches_),
                                      .accept = kube::accept_object(kube::Detail::kMetadata, encoding)});
      side.own_ms.push_back(own_cpu_ms() - own);
      side.server_ms.push_back((cpu_seconds(cluster_.api_server_pid()) - server) * 1000);
      side.bytes = run.answer_kb * 1000 * static_cast<double>(names_.size());
    }
  }

  void print() {
    rows_.push_back(answers_);
    fmt::print("{:<36}{:>8}{:>9}  {:<44}{:<44}{:<54}{}\n", "", "MB JSON", "protobuf", "server ms JSON", "protobuf", "own ms JSON",
               "protobuf");
    for (const Row& row : rows_) {
      fmt::print("{:<36}{:>8.2f}{:>9.2f}  {:<44}{:<44}{:<54}{}\n", row.measure, row.json.bytes / 1e6, row.protobuf.bytes / 1e6,
                 with_all(row.json.server_ms, 0), with_all(row.protobuf.server_ms, 0), with_all(row.json.own_ms, 1),
                 with_all(row.protobuf.own_ms, 1));
    }
    double load[1] = {};
    ::getloadavg(load, 1);
    fmt::print("{} nodes, {} pods, {} events each; median (all) of {} rounds of {}; {} cores; load average at the end {:.1f}\n",
               names_.size(), 2 * names_.size(), names_.size(), options_.rounds, options_.repeats,
               std::thread::hardware_concurrency(), load[0]);
  }

  const Options options_;
  api::RealCluster cluster_;
  const std::unique_ptr<net::Transport> transport_ = net::make_curl_transport(
      {.origin = cluster_.origin(), .ca_pem = cluster_.certificates().ca_cert});
  kube::Client client_{
      *transport_, {.authorization = [this](const std::stop_token&) { return "Bearer " + cluster_.token(); }}, Clock::real()};
  std::vector<std::string> names_;
  std::vector<Row> rows_;
  Row answers_{"answers to a PATCH of each node", {}, {}};
  int patches_ = 1;
};

int main(int argc, char** argv) {
  Options options;
  CLI::App app("JSON against protobuf, on a real API server");
  app.add_option("--nodes", options.nodes, "nodes; twice as many pods")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--rounds", options.rounds, "times the encodings take turns")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--repeats", options.repeats, "lists or watches in one turn")->capture_default_str()->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    Measurement(options).run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "encoding: {}\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace nodeward::bench

int main(int argc, char** argv) { return nodeward::bench::main(argc, argv); }

#include "api/labeler_process.h"

#include <fmt/format.h>

#include <stdexcept>
#include <thread>

#include "api/cluster.h"
#include "base/text.h"

namespace nodeward::api {
namespace {

namespace fs = std::filesystem;

constexpr auto kProgram = NW_BINARY_DIR "/bin/labeler";

fs::path new_folder(const fs::path& parent) {
  static int made = 0;
  const fs::path folder = parent / fmt::format("labeler-{}", ++made);
  fs::create_directory(folder);
  return folder;
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::vector<std::string> lines;
  for (std::string& line : split(read_file(file).value_or(""), '\n')) {
    if (!line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

// `env` becomes the program, so that the child is the labeler itself. Never in the cluster that the tests may run in.
std::vector<std::string> command(const fs::path& folder, int port, std::vector<std::string> flags,
                                 std::vector<std::string> environment) {
  std::vector<std::string> words = {"/usr/bin/env", "-u", "KUBERNETES_SERVICE_HOST", "AUDIT_LOG_BASE_PATH=" + folder.string()};
  words.insert(words.end(), environment.begin(), environment.end());
  words.emplace_back(kProgram);
  words.push_back(fmt::format("--metrics-port={}", port));
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}

}  // namespace

void await(const std::string& what, const std::function<bool()>& holds, Duration patience) {
  const MonoTime deadline = Clock::real().now() + patience;
  while (!holds()) {
    if (Clock::real().now() > deadline) throw std::runtime_error("did not come: " + what);
    std::this_thread::sleep_for(5ms);  // other processes: no clock to fake
  }
}

LabelerProcess::LabelerProcess(const fs::path& folder, std::vector<std::string> flags, std::vector<std::string> environment)
    : folder_(new_folder(folder)),
      port_(free_port()),
      pages_(fmt::format("http://127.0.0.1:{}", port_), "", ""),
      child_(command(folder_, port_, std::move(flags), std::move(environment)), folder_ / "output") {}

int LabelerProcess::wait_for_exit() {
  await("the labeler's end", [&] { return !child_.running(); });
  return child_.exit_code().value();
}

int LabelerProcess::stop() {
  child_.stop(kPatience);
  return child_.exit_code().value();
}

void LabelerProcess::await(const std::string& what, const std::function<bool()>& holds, Duration patience) {
  try {
    api::await(what, holds, patience);
  } catch (const std::runtime_error& error) {
    constexpr std::size_t kMost = 3000;
    const std::string text = output();
    throw std::runtime_error(fmt::format("{}; the labeler {}; its output ends with:\n{}", error.what(),
                                         running() ? "runs" : "has ended",
                                         text.substr(text.size() - std::min(kMost, text.size()))));
  }
}

void LabelerProcess::await_ready() {
  await("the labeler ready, its first sweep through",
        [&] { return get("/readyz").status == 200 && metric("labeler_sweep_duration_seconds") > 0; });
}

Answer LabelerProcess::get(const std::string& path) {
  try {
    return pages_.get(path);
  } catch (const std::runtime_error&) {
    return {};
  }
}

double LabelerProcess::metric(std::string_view series) {
  const std::string start = std::string(series) + ' ';
  for (const std::string& line : split(get("/metrics").body, '\n')) {
    if (line.starts_with(start)) return std::stod(line.substr(start.size()));
  }
  return 0;
}

std::string LabelerProcess::output() const { return read_file(folder_ / "output").value_or(""); }

std::vector<Json> LabelerProcess::log() const {
  std::vector<Json> entries;
  for (const std::string& line : lines_of(folder_ / "output")) {
    if (auto entry = parse_json(line)) entries.push_back(*std::move(entry));
  }
  return entries;
}

std::vector<std::string> LabelerProcess::printed() const {
  std::vector<std::string> lines = lines_of(folder_ / "output");
  std::erase_if(lines, [](const std::string& line) { return line.starts_with('{'); });
  return lines;
}

std::vector<Json> LabelerProcess::log_of(std::string_view message) const {
  std::vector<Json> entries = log();
  std::erase_if(entries, [&](const Json& entry) { return entry.at("msg") != message; });
  return entries;
}

std::vector<Json> LabelerProcess::audit() const {
  std::vector<Json> entries;
  for (const std::string& line : lines_of(folder_ / "labeler-audit.log")) entries.push_back(parse_json(line).value());
  return entries;
}

}  // namespace nodeward::api

#include "api/controller_process.h"

#include <fmt/format.h>

#include <stdexcept>
#include <thread>
#include <utility>

#include "api/cluster.h"
#include "base/text.h"

namespace nodeward::api {
namespace {

namespace fs = std::filesystem;

fs::path new_folder(const fs::path& parent, const std::string& program) {
  static int made = 0;
  fs::path folder = parent / fmt::format("{}-{}", program, ++made);
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

// `env` becomes the program, so that the child is the controller itself. Never in the cluster that the tests may run in.
std::vector<std::string> command(const std::string& program, const fs::path& folder, int port,
                                 const std::vector<std::string>& flags, const std::vector<std::string>& environment) {
  std::vector<std::string> words = {"/usr/bin/env", "-u", "KUBERNETES_SERVICE_HOST", "AUDIT_LOG_BASE_PATH=" + folder.string()};
  words.insert(words.end(), environment.begin(), environment.end());
  words.push_back(NW_BINARY_DIR "/bin/" + program);
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

ControllerProcess::ControllerProcess(std::string program, const fs::path& folder, const std::vector<std::string>& flags,
                                     const std::vector<std::string>& environment)
    : program_(std::move(program)),
      folder_(new_folder(folder, program_)),
      port_(free_port()),
      pages_(fmt::format("http://127.0.0.1:{}", port_), "", ""),
      child_(command(program_, folder_, port_, flags, environment), folder_ / "output") {}

int ControllerProcess::wait_for_exit() {
  await("the end of " + program_, [&] { return !child_.running(); });
  return child_.exit_code().value();
}

int ControllerProcess::stop() {
  child_.stop(kPatience);
  return child_.exit_code().value();
}

void ControllerProcess::await(const std::string& what, const std::function<bool()>& holds, Duration patience) {
  try {
    api::await(what, holds, patience);
  } catch (const std::runtime_error& error) {
    constexpr std::size_t kMost = 3000;
    const std::string text = output();
    throw std::runtime_error(fmt::format("{}; {} {}; its output ends with:\n{}", error.what(), program_,
                                         running() ? "runs" : "has ended",
                                         text.substr(text.size() - std::min(kMost, text.size()))));
  }
}

void ControllerProcess::await_ready() {
  await(program_ + " ready", [&] { return get("/readyz").status == 200; });
}

Answer ControllerProcess::get(const std::string& path) {
  try {
    return pages_.get(path);
  } catch (const std::runtime_error&) {
    return {};
  }
}

double ControllerProcess::metric(std::string_view series) {
  const std::string start = std::string(series) + ' ';
  for (const std::string& line : split(get("/metrics").body, '\n')) {
    if (line.starts_with(start)) return std::stod(line.substr(start.size()));
  }
  return 0;
}

std::string ControllerProcess::output() const { return read_file(folder_ / "output").value_or(""); }

std::vector<Json> ControllerProcess::log() const {
  std::vector<Json> entries;
  for (const std::string& line : lines_of(folder_ / "output")) {
    if (auto entry = parse_json(line)) entries.push_back(*std::move(entry));
  }
  return entries;
}

std::vector<std::string> ControllerProcess::printed() const {
  std::vector<std::string> lines = lines_of(folder_ / "output");
  std::erase_if(lines, [](const std::string& line) { return line.starts_with('{'); });
  return lines;
}

std::vector<Json> ControllerProcess::log_of(std::string_view message) const {
  std::vector<Json> entries = log();
  std::erase_if(entries, [&](const Json& entry) { return entry.at("msg") != message; });
  return entries;
}

std::map<std::string, std::vector<int>> ControllerProcess::answers_by_node() const {
  std::map<std::string, std::vector<int>> answers;
  for (const Json& entry : audit()) {
    if (entry.at("method") != "PATCH") throw std::runtime_error("a write that is no PATCH: " + to_text(entry));
    const std::string url = entry.at("url");
    answers[url.substr(0, url.find('?'))].push_back(entry.value("response_code", 0));
  }
  return answers;
}

std::vector<Json> ControllerProcess::audit() const {
  std::vector<Json> entries;
  for (const std::string& line : lines_of(folder_ / (program_ + "-audit.log"))) entries.push_back(parse_json(line).value());
  return entries;
}

}  // namespace nodeward::api

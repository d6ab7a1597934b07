#include "telemetry/rotating_file.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "telemetry/log.h"

namespace nodeward::telemetry {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGz = ".gz";
constexpr std::string_view kStampShape = "2026-09-01T08-30-00.123";

tl::unexpected<Error> system_failure(std::string_view what, const fs::path& file) {
  return fail(ErrorCode::kUnavailable, fmt::format("{} {}: {}", what, file.string(), std::system_category().message(errno)));
}

// As in a backup's name, UTC: 2026-09-01T08-30-00.123. Text order is time order.
std::string stamp(WallTime time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time - second).count();
  return fmt::format("{:%Y-%m-%dT%H-%M-%S}.{:03}", fmt::gmtime(std::chrono::system_clock::to_time_t(second)), ms);
}

bool is_stamp(std::string_view text) {
  return std::equal(text.begin(), text.end(), kStampShape.begin(), kStampShape.end(), [](char is, char like) {
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    return digit(like) ? digit(is) : is == like;
  });
}

struct Backup {
  fs::path path;
  std::string stamp;
  bool compressed = false;
};

// "<stem>-<stamp><extension>[.gz]" beside `file`, newest first.
std::vector<Backup> backups_of(const fs::path& file) {
  const std::string prefix = file.stem().string() + "-";
  const std::string suffix = file.extension().string();
  std::vector<Backup> found;
  std::error_code gone;    // of the folder: then there is nothing, or nothing more, to see
  for (fs::directory_iterator entry(file.parent_path(), gone), end; !gone && entry != end; entry.increment(gone)) {
    const std::string whole = entry->path().filename().string();
    std::string_view name = whole;
    const bool compressed = name.ends_with(kGz);
    if (compressed) name.remove_suffix(kGz.size());
    if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() < prefix.size() + suffix.size()) continue;
    const std::string_view middle = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
    if (is_stamp(middle)) found.push_back({entry->path(), std::string(middle), compressed});
  }
  std::sort(found.begin(), found.end(), [](const Backup& a, const Backup& b) { return a.stamp > b.stamp; });
  return found;
}

// Writes `file`.gz and removes `file`; on a failure or a stop `file` stays and the half-made one goes.
Result<> compress(const fs::path& file, const std::stop_token& stop) {
  const fs::path packed = file.string() + std::string(kGz);
  const auto give_up = [&]() -> Result<> {
    auto failure = system_failure("compress", file);
    std::error_code ignored;
    fs::remove(packed, ignored);
    return failure;
  };
  const int fd = open(packed.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return give_up();
  std::unique_ptr<gzFile_s, decltype(&gzclose)> out(gzdopen(fd, "wb"), &gzclose);
  std::ifstream in(file, std::ios::binary);
  std::array<char, 16 * 1024> bytes;
  while (in.read(bytes.data(), bytes.size()), in.gcount() > 0) {
    if (stop.stop_requested()) return give_up();
    if (gzwrite(out.get(), bytes.data(), static_cast<unsigned>(in.gcount())) <= 0) return give_up();
  }
  if (!in.eof() || gzclose(out.release()) != Z_OK) return give_up();
  std::error_code ignored;
  fs::remove(file, ignored);
  return {};
}

void tidy(const RotationOptions& options, WallTime now, const std::stop_token& stop) {
  const std::string oldest = options.max_age_days == 0 ? "" : stamp(now - std::chrono::hours(24) * options.max_age_days);
  std::size_t kept = 0;
  for (const Backup& backup : backups_of(options.file)) {
    if (stop.stop_requested()) return;
    const bool surplus = options.max_backups > 0 && kept >= static_cast<std::size_t>(options.max_backups);
    if (surplus || backup.stamp < oldest) {
      std::error_code ignored;
      fs::remove(backup.path, ignored);
      continue;
    }
    ++kept;
    if (!options.compress || backup.compressed) continue;
    const auto done = compress(backup.path, stop);
    if (!done && !stop.stop_requested()) warn("audit: an old file stays as it is", {{"error", done.error().message}});
  }
}

}  // namespace

RotatingFile::~RotatingFile() { close(); }

Result<> RotatingFile::append(std::string_view line) {
  const std::lock_guard lock(mutex_);
  if (line.size() > options_.max_bytes) {
    return fail(ErrorCode::kInvalid,
                fmt::format("an entry of {} bytes does not fit the largest file, {} bytes", line.size(), options_.max_bytes));
  }
  if (fd_ < 0) {
    NW_TRY(open());
    tidy_up();
  }
  if (size_ + line.size() > options_.max_bytes) NW_TRY(rotate());
  const ssize_t written = ::write(fd_, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) {
    size_ += line.size();
    return {};
  }
  auto failure = written < 0 ? system_failure("write", options_.file)
                             : fail(ErrorCode::kUnavailable, fmt::format("write {}: no room", options_.file.string()));
  [[maybe_unused]] const int cut = ftruncate(fd_, static_cast<off_t>(size_));    // leaves no half line
  close();
  return failure;
}

Result<> RotatingFile::open() {
  std::error_code failure;
  fs::create_directories(options_.file.parent_path(), failure);
  if (failure) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("make folder {}: {}", options_.file.parent_path().string(), failure.message()));
  }
  fd_ = ::open(options_.file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd_ < 0) return system_failure("open", options_.file);
  struct stat facts {};
  fstat(fd_, &facts);
  size_ = static_cast<std::size_t>(facts.st_size);
  return {};
}

Result<> RotatingFile::rotate() {
  close();
  std::error_code failure;
  fs::rename(options_.file, backup_name(), failure);
  if (failure) return fail(ErrorCode::kUnavailable, fmt::format("rename {}: {}", options_.file.string(), failure.message()));
  NW_TRY(open());
  tidy_up();
  return {};
}

void RotatingFile::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void RotatingFile::tidy_up() {
  const WallTime now = clock_.wall_now();
  if (tidier_.joinable()) tidier_.join();    // two would get in each other's way
  tidier_ = std::jthread([options = options_, now](const std::stop_token& stop) { tidy(options, now, stop); });
}

fs::path RotatingFile::backup_name() const {
  const fs::path& file = options_.file;
  WallTime time = clock_.wall_now();
  fs::path name;
  std::error_code unseen;    // a folder that cannot be read: rename() will say so
  do {
    name = file.parent_path() / fmt::format("{}-{}{}", file.stem().string(), stamp(time), file.extension().string());
    time += std::chrono::milliseconds(1);    // two rotations within one
  } while (fs::exists(name, unseen) || fs::exists(name.string() + std::string(kGz), unseen));
  return name;
}

}  // namespace nodeward::telemetry

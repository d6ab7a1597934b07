// A file that lines are appended to and that starts anew at a size. The old ones stay beside it as NAME-<time>.ext[.gz], as the
// lumberjack package for Go names them, so that both programs tidy up each other's. Private to telemetry. Any thread.
#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/error.h"

namespace nodeward::telemetry {

struct RotationOptions {
  std::filesystem::path file;
  std::size_t max_bytes = 0;
  int max_backups = 0;     // 0: keep all
  int max_age_days = 0;    // 0: keep for ever
  bool compress = false;
};

class RotatingFile {
 public:
  RotatingFile(RotationOptions options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}
  ~RotatingFile();

  // Makes the folder and the file (mode 600) where they are missing. A failure loses this line only; the next one tries anew.
  Result<> append(std::string_view line);

 private:
  Result<> open();
  Result<> rotate();
  void close();
  void tidy_up();
  std::filesystem::path backup_name() const;

  const RotationOptions options_;
  const Clock& clock_;
  std::mutex mutex_;                // guards what follows
  int fd_ = -1;
  std::size_t size_ = 0;
  std::jthread tidier_;             // compresses and removes old files; a hundred megabytes take a while
};

}  // namespace nodeward::telemetry

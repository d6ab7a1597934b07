#include "telemetry/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <vector>

#include "base/fake_clock.h"
#include "base/json.h"
#include "base/text.h"
#include "telemetry/rotating_file.h"

namespace nodeward::telemetry {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class AuditFolder : public testing::Test {
 protected:
  AuditFolder() {
    std::string shape = (fs::temp_directory_path() / "nodeward-audit-XXXXXX").string();
    folder_ = mkdtemp(shape.data());
  }
  ~AuditFolder() override { fs::remove_all(folder_); }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_)) found.push_back(entry.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
  }
  std::string text_of(const std::string& name) const { return read_file(folder_ / name).value(); }
  std::string unpacked(const std::string& name) const {
    const std::unique_ptr<gzFile_s, decltype(&gzclose)> in(gzopen((folder_ / name).c_str(), "rb"), &gzclose);
    std::string text(4096, '\0');
    text.resize(static_cast<std::size_t>(std::max(0, gzread(in.get(), text.data(), 4096))));
    return text;
  }
  RotationOptions ten_bytes() const { return {.file = folder_ / "labeler-audit.log", .max_bytes = 10}; }

  // The name of a file put away now.
  std::string backup_name(std::string_view milliseconds = "000") const {
    std::string stamp = rfc3339(clock_.wall_now());
    std::replace(stamp.begin(), stamp.end(), ':', '-');
    stamp.back() = '.';
    return "labeler-audit-" + stamp + std::string(milliseconds) + ".log";
  }

  fs::path folder_;
  FakeClock clock_;
};

TEST_F(AuditFolder, WritesALinePerWriteRequestAndNoneForReads) {
  Audit audit({.enabled = true, .folder = folder_ / "made", .component = "labeler", .pod_name = "labeler-7"}, clock_);
  EXPECT_FALSE(fs::exists(folder_ / "made"));    // only with the first entry
  audit.record("GET", "https://h:1/api/v1/nodes/n1", 200, "");
  audit.record("PATCH", "https://h:1/api/v1/nodes/n1?fieldManager=labeler", 200, "{}");
  audit.record("DELETE", "https://h:1/x", 0, "");
  const std::string now = rfc3339(clock_.wall_now());
  EXPECT_EQ(text_of("made/labeler-7-audit.log"),
            R"({"timestamp":")" + now +
                R"(","component":"labeler","method":"PATCH",)"
                R"("url":"https://h:1/api/v1/nodes/n1?fieldManager=labeler","response_code":200})"
                "\n"
                R"({"timestamp":")" +
                now +
                R"(","component":"labeler","method":"DELETE","url":"https://h:1/x"})"
                "\n");
  struct stat facts {};
  ASSERT_EQ(stat((folder_ / "made/labeler-7-audit.log").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST_F(AuditFolder, HoldsTheBodyOnlyWhenAsked) {
  Audit audit({.enabled = true, .folder = folder_, .component = "labeler", .request_body = true}, clock_);
  audit.record("POST", "/x", 201, R"({"a":"b"})");
  const Json line = parse_json(text_of("labeler-audit.log")).value();
  EXPECT_EQ(line["requestBody"], R"({"a":"b"})");
}

TEST_F(AuditFolder, DoesNothingWhenSwitchedOff) {
  Audit audit({.enabled = false, .folder = folder_, .component = "labeler"}, clock_);
  audit.record("POST", "/x", 201, "");
  EXPECT_THAT(names(), ElementsAre());
}

TEST_F(AuditFolder, ALostEntryIsOneErrorLine) {
  std::ofstream(folder_ / "file") << "in the way";
  Audit audit({.enabled = true, .folder = folder_ / "file" / "below", .component = "labeler"}, clock_);
  testing::internal::CaptureStderr();
  audit.record("POST", "/x", 201, "");
  audit.record("POST", "/x", 201, "");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_THAT(text, HasSubstr(R"("level":"ERROR","msg":"audit: failed to write entry")"));
  EXPECT_THAT(text, HasSubstr("Not a directory"));
}

TEST_F(AuditFolder, GoesOnWhereAnEarlierProcessStopped) {
  for (int run = 0; run < 2; ++run) ASSERT_TRUE(RotatingFile(ten_bytes(), clock_).append("1234\n"));
  EXPECT_EQ(text_of("labeler-audit.log"), "1234\n1234\n");
}

TEST_F(AuditFolder, StartsANewFileAtItsSize) {
  RotatingFile file(ten_bytes(), clock_);
  for (const char* line : {"1111\n", "2222\n", "3333\n"}) ASSERT_TRUE(file.append(line));
  EXPECT_THAT(names(), ElementsAre(backup_name(), "labeler-audit.log"));
  EXPECT_EQ(text_of(backup_name()), "1111\n2222\n");
  EXPECT_EQ(text_of("labeler-audit.log"), "3333\n");
  for (const char* line : {"4444\n", "5555\n"}) ASSERT_TRUE(file.append(line));    // the name of this moment is taken
  EXPECT_EQ(text_of(backup_name("001")), "3333\n4444\n");
  EXPECT_EQ(file.append("a line of its own size\n").error().code, ErrorCode::kInvalid);
}

TEST_F(AuditFolder, KeepsTheNewestBackupsPackedAndTouchesNothingElse) {
  std::ofstream(folder_ / "labeler-audit-mine.log") << "not a backup";
  RotationOptions options = ten_bytes();
  options.max_backups = 2;
  options.compress = true;
  RotatingFile file(options, clock_);
  std::vector<std::string> put_away;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(file.append("line " + std::to_string(i) + "..\n"));
    if (i > 0) put_away.push_back(backup_name());
    clock_.advance(1s);
  }
  while (names().size() != 4 || fs::exists(folder_ / put_away[3])) std::this_thread::yield();
  EXPECT_THAT(names(), ElementsAre(put_away[2] + ".gz", put_away[3] + ".gz", "labeler-audit-mine.log", "labeler-audit.log"));
  EXPECT_EQ(unpacked(put_away[3] + ".gz"), "line 3..\n");
}

TEST_F(AuditFolder, RemovesWhatIsTooOldAtTheStart) {
  std::ofstream(folder_ / "labeler-audit-2026-08-01T06-00-00.000.log.gz") << "x";
  std::ofstream(folder_ / "labeler-audit-2026-08-03T06-00-00.000.log.gz") << "x";
  RotationOptions options = ten_bytes();
  options.max_age_days = 30;
  RotatingFile file(options, clock_);
  ASSERT_TRUE(file.append("1\n"));
  while (names().size() != 2) std::this_thread::yield();
  EXPECT_THAT(names(), ElementsAre("labeler-audit-2026-08-03T06-00-00.000.log.gz", "labeler-audit.log"));
}

TEST(AuditOptions, ReadsTheEnvironmentAndForgivesWhatItCannotRead) {
  const auto defaults = AuditOptions::from_environment("labeler");
  EXPECT_FALSE(defaults.enabled);
  EXPECT_EQ(defaults.folder, "/var/log/nvsentinel");
  EXPECT_EQ(defaults.max_size_mb, 100);
  const std::vector<std::pair<const char*, const char*>> set = {
      {"AUDIT_ENABLED", "T"},          {"AUDIT_LOG_BASE_PATH", "/x"},     {"POD_NAME", "p-1"},
      {"AUDIT_LOG_MAX_SIZE_MB", "5"},  {"AUDIT_LOG_MAX_BACKUPS", "many"}, {"AUDIT_LOG_MAX_AGE_DAYS", "-1"},
      {"AUDIT_LOG_COMPRESS", "false"}, {"AUDIT_LOG_REQUEST_BODY", "yes"}};
  for (const auto& [name, value] : set) setenv(name, value, 1);
  const auto options = AuditOptions::from_environment("labeler");
  for (const auto& [name, value] : set) unsetenv(name);
  EXPECT_TRUE(options.enabled);
  EXPECT_EQ(options.folder, "/x");
  EXPECT_EQ(options.pod_name, "p-1");
  EXPECT_EQ(options.max_size_mb, 5);
  EXPECT_EQ(options.max_backups, 7);
  EXPECT_EQ(options.max_age_days, 30);
  EXPECT_FALSE(options.compress);
  EXPECT_FALSE(options.request_body);
}

}  // namespace
}  // namespace nodeward::telemetry

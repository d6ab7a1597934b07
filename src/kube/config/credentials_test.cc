#include "kube/config/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/fake_clock.h"
#include "kube/config/temp_folder.h"

namespace nodeward::kube {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class CredentialsOfAFile : public testing::Test {
 protected:
  CredentialsOfAFile()
      : file_(folder_.write("token", "first\n")), config_{.token = "inline", .token_file = file_, .source = "a test"} {}

  TempFolder folder_;
  std::filesystem::path file_;
  ClusterConfig config_;
  FakeClock clock_;
};

TEST(Credentials, AreEmptyWithoutAToken) {
  FakeClock clock;
  Credentials credentials(ClusterConfig{}, clock);
  EXPECT_EQ(credentials.authorization({}).value().header, "");
  EXPECT_FALSE(credentials.reload(credentials.authorization({}).value(), {}));
}

TEST(Credentials, OfATokenAloneNeverChange) {
  FakeClock clock;
  ClusterConfig config;
  config.token = "inline";
  Credentials credentials(config, clock);
  clock.advance(1h);
  EXPECT_FALSE(credentials.reload(credentials.authorization({}).value(), {}));
  EXPECT_EQ(credentials.authorization({}).value().header, "Bearer inline");
}

TEST_F(CredentialsOfAFile, TheFileWinsAndIsReadAgainAfterAMinute) {
  Credentials credentials(config_, clock_);
  EXPECT_EQ(credentials.authorization({}).value().header, "Bearer first");
  folder_.write("token", "second");
  clock_.advance(59s);
  EXPECT_EQ(credentials.authorization({}).value().header, "Bearer first");
  clock_.advance(1s);
  EXPECT_EQ(credentials.authorization({}).value().header, "Bearer second");
}

TEST_F(CredentialsOfAFile, AReloadSaysWhetherTheTokenChanged) {
  Credentials credentials(config_, clock_);
  EXPECT_FALSE(credentials.reload(credentials.authorization({}).value(), {}));
  folder_.write("token", "second");
  EXPECT_TRUE(credentials.reload(credentials.authorization({}).value(), {}));
  EXPECT_EQ(credentials.authorization({}).value().header, "Bearer second");
  EXPECT_FALSE(credentials.reload(credentials.authorization({}).value(), {}));
}

TEST_F(CredentialsOfAFile, AFileThatIsGoneOrEmptyKeepsTheOldTokenAndWarnsOnce) {
  Credentials credentials(config_, clock_);
  testing::internal::CaptureStderr();
  std::filesystem::remove(file_);
  EXPECT_FALSE(credentials.reload(credentials.authorization({}).value(), {}));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("No such file"), HasSubstr("a test"), Not(HasSubstr("first"))));

  testing::internal::CaptureStderr();
  for (const char* bad : {"", " \n", "two\nlines"}) {
    folder_.write("token", bad);
    clock_.advance(1min);
    EXPECT_EQ(credentials.authorization({}).value().header, "Bearer first");
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), IsEmpty());

  folder_.write("token", "second");
  EXPECT_TRUE(credentials.reload(credentials.authorization({}).value(), {}));
  testing::internal::CaptureStderr();
  folder_.write("token", "");
  EXPECT_FALSE(credentials.reload(credentials.authorization({}).value(), {}));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), AllOf(HasSubstr("is empty"), Not(HasSubstr("second"))));
}

TEST_F(CredentialsOfAFile, AFileThatCannotBeReadLeavesTheInlineToken) {
  std::filesystem::remove(file_);
  Credentials credentials(config_, clock_);
  EXPECT_EQ(credentials.authorization({}).value().header, "Bearer inline");
}

TEST_F(CredentialsOfAFile, ServeManyThreadsWhileTheTokenChanges) {
  Credentials credentials(config_, clock_);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 200; ++n) {
          clock_.advance(10s);
          EXPECT_THAT(credentials.authorization({}).value().header, testing::AnyOf("Bearer first", "Bearer second"));
        }
      });
    }
    const auto next = folder_.write("next", "second");
    std::filesystem::rename(next, file_);
  }
  credentials.reload(credentials.authorization({}).value(), {});
  EXPECT_EQ(credentials.authorization({}).value().header, "Bearer second");
}

}  // namespace
}  // namespace nodeward::kube

#include "sim/watch.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/fake_clock.h"

namespace nodeward::sim {
namespace {

// Which texts of whole objects stay in memory.
class WatchTexts : public testing::Test {
 protected:
  Watch watch() { return {shelf_, {.selector = {}, .space = "", .form = Form::whole(nodes_, clock_)}, {}}; }
  void change(int times) {
    for (; times > 0; --times) store_.put(nodes_, "gpu-1", Doc::empty_object().with({"metadata", "name"}, Doc::string("gpu-1")));
  }
  static std::string told(Watch& watch) {
    std::string out;
    watch.fill(out, 1 << 30);
    return out;
  }
  std::size_t texts() {
    std::size_t count = 0;
    for (auto number = shelf_.first_change(); number < shelf_.end_change(); ++number)
      count += shelf_.change(number).text != nullptr;
    return count;
  }

  const Resource& nodes_ = *find_resource("", "v1", "nodes");
  FakeClock clock_;
  Store store_;
  Shelf& shelf_ = store_.shelf(nodes_);
};

TEST_F(WatchTexts, AreSharedByWatchesThatKeepUp) {
  Watch one = watch();
  Watch other = watch();
  change(5);
  const std::string text = told(one);
  EXPECT_EQ(texts(), 5U);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
  EXPECT_EQ(told(other), text);
}

TEST_F(WatchTexts, AreNotKeptForOneWatchAlone) {
  Watch one = watch();
  change(5);
  const std::string text = told(one);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
  EXPECT_EQ(texts(), 0U);
}

TEST_F(WatchTexts, AreNotKeptForAWatchThatIsFarBehind) {
  Watch late = watch();
  Watch other = watch();
  change(2'500);
  const std::string text = told(late);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2'500);
  EXPECT_EQ(texts(), 2'000U);
}

}  // namespace
}  // namespace nodeward::sim

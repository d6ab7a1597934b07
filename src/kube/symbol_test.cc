#include "kube/symbol.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace nodeward::kube {
namespace {

TEST(Symbol, EqualTextsShareOneCopyThatGoesWithItsLastHolder) {
  const auto before = interned_count();
  {
    const Symbol a("kubernetes.io/hostname");
    const Symbol b(std::string("kubernetes.io/") + "hostname");
    EXPECT_EQ(a, b);
    EXPECT_EQ(a.view(), "kubernetes.io/hostname");
    EXPECT_EQ(interned_count(), before + 1);
  }
  EXPECT_EQ(interned_count(), before);
}

TEST(Symbol, TheEmptyTextTakesNoRoom) {
  EXPECT_TRUE(Symbol("").empty());
  EXPECT_EQ(Symbol(""), Symbol());
  EXPECT_EQ(Symbol().view(), "");
}

TEST(Symbol, IsSafeFromManyThreads) {
  const auto before = interned_count();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 20000; ++i) {
        const Symbol one("value-" + std::to_string(i % 7));
        const Symbol copy = one;
        ASSERT_EQ(copy.view(), "value-" + std::to_string(i % 7));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(interned_count(), before);
}

}  // namespace
}  // namespace nodeward::kube

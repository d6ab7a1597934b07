#include "labels/dcgm_version.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace nodeward::labels {
namespace {

std::vector<std::vector<std::string>> rows_of(const std::string& file) {
  const auto text = read_file(NW_SOURCE_DIR "/tests/data/labeler/" + file);
  EXPECT_TRUE(text) << text.error().message;
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : split(*text, '\n')) {
    if (!line.empty()) rows.push_back(split(line, '\t'));
  }
  rows.erase(rows.begin());   // the heading
  return rows;
}

TEST(R17DcgmVersion, ComesFromTheTagOfAnImageCalledDcgm) {
  const auto rows = rows_of("image-names.tsv");
  EXPECT_EQ(rows.size(), 24U);
  for (const auto& row : rows) {
    const std::string_view value = label_value(dcgm_major(row[0]));
    const auto right = split(row[1], '|');   // "-" is none; an odd path may be read either way
    EXPECT_NE(std::find(right.begin(), right.end(), value.empty() ? "-" : value), right.end())
        << row[0] << " gives \"" << value << '"';
  }
}

struct Case {
  std::string_view image;
  std::string_view value;
};
class DcgmVersion : public ::testing::TestWithParam<Case> {};
TEST_P(DcgmVersion, IsAsInTheTableOfTheSpecification) { EXPECT_EQ(label_value(dcgm_major(GetParam().image)), GetParam().value); }
INSTANTIATE_TEST_SUITE_P(
    Section4, DcgmVersion,
    ::testing::Values(Case{"nvcr.io/nvidia/cloud-native/dcgm:4.2.3-1-ubuntu22.04", "4.x"},
                      Case{"nvcr.io/nvidia/dcgm:3.3.9", "3.x"}, Case{"registry.local:5000/mirror/dcgm:4.1.0@sha256:ab12", "4.x"},
                      Case{"site/my-dcgm:4.0.0", "4.x"}, Case{"nvcr.io/nvidia/k8s/dcgm-exporter:4.2.0", ""},
                      Case{"nvcr.io/nvidia/cloud-native/dcgm@sha256:ab12", ""}, Case{"nvcr.io/nvidia/cloud-native/dcgm:4", ""},
                      Case{"nvcr.io/nvidia/cloud-native/dcgm:v4.2", ""}, Case{"nvcr.io/nvidia/cloud-native/dcgm:40.1", ""},
                      Case{"nvcr.io/nvidia/cloud-native/dcgm:5.0.1", ""}));

TEST(DcgmVersion, TakesAnyText) {
  for (const std::string_view text :
       {":", "/", "@", "/:", ":/@", "dcgm:", "dcgm:3", "dcgm:4./", "@dcgm:4.1", "a//dcgm::4.1", "\xff\xfe:4."}) {
    EXPECT_EQ(dcgm_major(text), DcgmMajor::kNone) << text;
  }
  EXPECT_EQ(dcgm_major(std::string(1 << 20, 'd')), DcgmMajor::kNone);
}

TEST(DcgmVersion, OfAPodIsThatOfItsFirstContainerWithOne) {
  EXPECT_EQ(dcgm_major(std::vector<std::string>{"x:1", "dcgm:3.1", "dcgm:4.1"}), DcgmMajor::k3);
  EXPECT_EQ(dcgm_major(std::vector<std::string>{}), DcgmMajor::kNone);
}

TEST(DcgmVersion, ADcgmImageWithoutOneIsTold) {
  EXPECT_TRUE(is_unversioned_dcgm("nvcr.io/nvidia/cloud-native/dcgm@sha256:4444"));
  EXPECT_TRUE(is_unversioned_dcgm("nvcr.io/nvidia/cloud-native/dcgm:latest"));
  EXPECT_FALSE(is_unversioned_dcgm("nvcr.io/nvidia/cloud-native/dcgm:4.1"));
  EXPECT_FALSE(is_unversioned_dcgm("nvcr.io/nvidia/k8s/dcgm-exporter:4.2.0"));
}

}  // namespace
}  // namespace nodeward::labels

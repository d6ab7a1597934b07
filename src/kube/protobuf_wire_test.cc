#include "kube/protobuf_wire.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "kube/protobuf_script.h"

namespace nodeward::kube::protobuf {
namespace {

bool is_sound(std::string_view message) {
  return each_field(message, [](const Field&) { return true; });
}

TEST(ProtobufWire, ReadsVarintsOfAllSizes) {
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{127}, std::uint64_t{128},
                                    std::uint64_t{300}, std::uint64_t{1} << 35, std::numeric_limits<std::uint64_t>::max()}) {
    const std::string whole = varint(value);
    std::string_view bytes = whole;
    std::uint64_t read = 1;
    EXPECT_EQ(take_varint(bytes, read), Read::kDone);
    EXPECT_EQ(read, value);
    EXPECT_TRUE(bytes.empty());
    for (std::size_t size = 0; size < whole.size(); ++size) {
      bytes = std::string_view(whole).substr(0, size);
      EXPECT_EQ(take_varint(bytes, read), Read::kShort) << value;
      EXPECT_EQ(bytes.size(), size) << "it stays for the next try";
    }
  }
}

TEST(ProtobufWire, AVarintOfOver64BitsIsBroken) {
  std::uint64_t read = 0;
  for (const std::string& text : {std::string(10, '\xff'), std::string(9, '\xff') + '\x02', std::string(20, '\x80')}) {
    std::string_view bytes = text;
    EXPECT_EQ(take_varint(bytes, read), Read::kBroken);
  }
}

TEST(ProtobufWire, StepsOverFieldsOfAllKinds) {
  const std::string message = number(9, 1U << 20) + varint(8 << 3 | 1) + "12345678" + varint(7 << 3 | 5) + "1234" +
                              field(100'000, "unknown") + field(2, "wanted");
  std::vector<std::uint32_t> numbers;
  std::string_view wanted;
  EXPECT_TRUE(each_field(message, [&](const Field& one) {
    numbers.push_back(one.number);
    if (one.is(2)) wanted = one.bytes;
    return true;
  }));
  EXPECT_EQ(numbers, (std::vector<std::uint32_t>{9, 8, 7, 100'000, 2}));
  EXPECT_EQ(wanted, "wanted");
}

TEST(ProtobufWire, RefusesWhatNoMessageHas) {
  EXPECT_TRUE(is_sound(""));
  EXPECT_FALSE(is_sound(varint(0 << 3 | 2) + varint(0))) << "field 0";
  EXPECT_FALSE(is_sound(varint(1 << 3 | 3) + varint(1 << 3 | 4))) << "a group";
  EXPECT_FALSE(is_sound(varint(1 << 3 | 6))) << "no kind";
  EXPECT_FALSE(is_sound(varint(1 << 3 | 2) + varint(5) + "1234")) << "beyond the end";
  EXPECT_FALSE(is_sound(varint(1 << 3 | 2) + varint(std::numeric_limits<std::uint64_t>::max()) + "1234")) << "far beyond the end";
  EXPECT_FALSE(is_sound(varint(1 << 3 | 1) + "1234567")) << "seven of eight bytes";
  EXPECT_FALSE(is_sound(varint(std::uint64_t{1} << 40 | 2) + varint(0))) << "a number of over 29 bits";
}

TEST(ProtobufWire, TakesAnObjectOutOfItsEnvelope) {
  EXPECT_EQ(unwrapped(enveloped("Node", "content")), "content");
  EXPECT_EQ(unwrapped(enveloped("Node", "")), "");
  EXPECT_EQ(unwrapped(enveloped("Node", "content").substr(1)), std::nullopt);
  EXPECT_EQ(unwrapped(enveloped("Node", "content").substr(0, 20)), std::nullopt);
  EXPECT_EQ(unwrapped(std::string(kMagic)), std::nullopt) << "no object in it";
}

}  // namespace
}  // namespace nodeward::kube::protobuf

#include "kube/protobuf_splitters.h"

#include <gtest/gtest.h>

#include <vector>

#include "kube/protobuf_script.h"

namespace nodeward::kube {
namespace {

using protobuf::enveloped;
using protobuf::field;
using protobuf::number;
using protobuf::varint;
using Texts = std::vector<std::string>;

// All that was cut out, at the end the error if there was one.
template <class Splitter>
Texts cut(Splitter& splitter, std::string_view bytes, std::size_t chunk) {
  Texts texts;
  for (std::size_t at = 0; at < bytes.size(); at += chunk) {
    const std::string piece(bytes.substr(at, chunk));    // its own memory: nothing may look back into an earlier one
    const auto fed = splitter.feed(piece, [&](std::string_view text) -> Result<> {
      texts.emplace_back(text);
      return {};
    });
    if (!fed) {
      texts.push_back(fed.error().message);
      return texts;
    }
  }
  return texts;
}

std::string sample_list() {
  return protobuf::list("NodeList", "41", "next",
                        field(2, "first") + number(9, 77) + field(2, "") + field(7, "unknown") + field(2, std::string(300, 'x')));
}

TEST(ProtobufItemSplitter, CutsTheSameItemsHoweverTheBytesArrive) {
  const std::string list = sample_list();
  for (std::size_t chunk = 1; chunk <= list.size(); ++chunk) {
    ProtobufItemSplitter splitter;
    ASSERT_EQ(cut(splitter, list, chunk), (Texts{"first", "", std::string(300, 'x')})) << chunk;
    ASSERT_TRUE(splitter.complete());
    const auto meta = splitter.meta();
    ASSERT_TRUE(meta) << meta.error().message;
    EXPECT_EQ(meta->version.str(), "41");
    EXPECT_EQ(meta->continue_token, "next");
  }
}

TEST(ProtobufItemSplitter, AListThatBreaksOffIsNeverComplete) {
  const std::string list = sample_list();
  const std::size_t whole = list.size() - 4;    // the two empty texts behind the list say nothing
  for (std::size_t size = 0; size < whole; ++size) {
    ProtobufItemSplitter splitter;
    cut(splitter, std::string_view(list).substr(0, size), 7);
    EXPECT_FALSE(splitter.complete()) << size;
  }
  ProtobufItemSplitter splitter;
  cut(splitter, std::string_view(list).substr(0, whole), 7);
  EXPECT_TRUE(splitter.complete());
}

TEST(ProtobufItemSplitter, AnEmptyListIsComplete) {
  ProtobufItemSplitter splitter;
  EXPECT_EQ(cut(splitter, protobuf::list("PodList", "9", "", ""), 5), Texts{});
  EXPECT_TRUE(splitter.complete());
  EXPECT_EQ(splitter.meta()->version.str(), "9");
}

TEST(ProtobufItemSplitter, RefusesWhatIsNoList) {
  const auto refusal = [](const std::string& bytes) {
    ProtobufItemSplitter splitter;
    const Texts texts = cut(splitter, bytes, 3);
    if (!texts.empty()) return texts.back();
    const auto meta = splitter.meta();
    return meta ? std::string("none") : meta.error().message;
  };
  EXPECT_EQ(refusal(R"({"kind":"NodeList"})"), "the answer is no Kubernetes list (it does not begin with k8s)");
  EXPECT_EQ(refusal(enveloped("Node", field(1, "metadata"))), "the answer is no Kubernetes list (by its kind or metadata)");
  EXPECT_EQ(refusal(enveloped("NodeList", "")), "the answer is no Kubernetes list (by its kind or metadata)");
  EXPECT_EQ(refusal("k8s" + std::string(1, '\0') + varint(2 << 3 | 2) + varint(4) + varint(2 << 3 | 2) + varint(9) + "123456789"),
            "the list ends within a field");
  EXPECT_EQ(refusal("k8s" + std::string(1, '\0') + varint(2 << 3 | 3)), "the list holds a field that is no protobuf");
  EXPECT_EQ(refusal(sample_list() + field(2, "again")), "the answer holds two lists");
}

TEST(ProtobufItemSplitter, APromiseOfTooMuchIsRefusedBeforeItIsKept) {
  const std::uint64_t huge = kMaxObject + 1;
  const std::string item = varint(2 << 3 | 2) + varint(huge);
  ProtobufItemSplitter splitter;
  EXPECT_EQ(cut(splitter, std::string(protobuf::kMagic) + varint(2 << 3 | 2) + varint(huge + item.size()) + item, 100),
            Texts{"an object of the list is over 64 MiB"});
}

TEST(FrameSplitter, CutsTheSameFramesHoweverTheBytesArrive) {
  const std::string first = protobuf::frame("ADDED", "one");
  const std::string empty(4, '\0');
  const std::string last = protobuf::frame("MODIFIED", std::string(70'000, 'y'));
  const std::string stream = first + empty + last;
  for (const std::size_t chunk :
       {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{5}, std::size_t{4096}, stream.size()}) {
    FrameSplitter splitter;
    ASSERT_EQ(cut(splitter, stream, chunk), (Texts{first.substr(4), "", last.substr(4)})) << chunk;
  }
}

TEST(FrameSplitter, HalfAFrameIsNoEvent) {
  FrameSplitter splitter;
  EXPECT_EQ(cut(splitter, protobuf::frame("ADDED", "one").substr(0, 12), 5), Texts{});
  EXPECT_TRUE(splitter.finish([](std::string_view) -> Result<> { return fail(ErrorCode::kInvalid, "an event"); }));
}

TEST(FrameSplitter, AFrameOfOver64MiBIsRefused) {
  FrameSplitter splitter;
  EXPECT_EQ(cut(splitter, std::string("\x04\x00\x00\x01", 4), 4), Texts{"a frame of the watch is over 64 MiB"});
}

}  // namespace
}  // namespace nodeward::kube

#include "kube/protobuf_decode.h"

#include <gtest/gtest.h>

#include <random>

#include "kube/protobuf_script.h"
#include "kube/protobuf_splitters.h"

namespace nodeward::kube {
namespace {

using protobuf::entry;
using protobuf::enveloped;
using protobuf::field;
using protobuf::frame;
using protobuf::number;

const NodeSelection kSelected{.labels = {.all = false, .keys = {"keep"}}, .annotations = {.all = false, .keys = {"note"}}};

std::string sample_node() {
  return protobuf::node("gpu-07", "41",
                        entry(11, "drop", "no") + entry(11, "keep", "yes") + entry(12, "note", "abc") +
                            entry(12, "other", "12345") +
                            field(17, field(1, "kubelet") + field(7, field(1, R"({"f:status":{}})")))) +
         field(2, field(1, "10.0.0.0/24")) + field(3, number(99, 1));
}
std::string sample_pod() {
  const auto condition = [](const char* type, const char* status) { return field(2, field(1, type) + field(2, status)); };
  return field(1,
               field(1, "dcgm") + field(3, "gpu-operator") + field(5, "u-1") + field(6, "9") + entry(11, "app", "nvidia-dcgm")) +
         field(2, field(1, field(1, "volume")) + field(2, field(1, "main") + field(2, "dcgm:4.2")) +
                      field(2, field(1, "no image")) + number(4, 30) + field(10, "gpu-07") +
                      field(20, field(2, "of an init container"))) +
         field(3, field(1, "Running") + condition("Initialized", "False") + condition("Ready", "True") +
                      condition("Ready", "False"));
}
std::string frame_of(std::string_view type, const std::string& object) { return frame(type, object).substr(4); }

TEST(ProtobufNodeDecoder, KeepsWhatWasSelected) {
  const auto decoder = make_node_decoder(kSelected, Encoding::kProtobuf);
  for (const std::string& bytes : {sample_node(), enveloped("Node", sample_node())}) {
    const auto node = decoder->object(bytes);
    ASSERT_TRUE(node) << node.error().message;
    EXPECT_EQ(node->name.str(), "gpu-07");
    EXPECT_EQ(node->version.str(), "41");
    EXPECT_EQ(node->uid, Uid::from("00000000-0000-4000-8000-000000000007"));
    EXPECT_EQ(node->labels.size(), 1U);
    EXPECT_EQ(node->labels.get("keep"), "yes");
    EXPECT_TRUE(node->labelled);
    EXPECT_EQ(node->annotations.size(), 1U);
    EXPECT_EQ(node->annotations.get("note"), "abc");
    EXPECT_EQ(node->annotation_bytes, 4U + 3 + 5 + 5);
  }
  EXPECT_FALSE(decoder->object(protobuf::node("bare", "1"))->labelled);
}

TEST(ProtobufNodeDecoderDeathTest, NothingThatIsKeptAsJsonCanBeAskedOfIt) {
  EXPECT_DEATH(make_node_decoder({.spec = true}, Encoding::kProtobuf), "kept as JSON");
}

TEST(ProtobufPodDecoder, ReadsAsTheJsonDecoderDoes) {
  const auto pod = make_pod_decoder(Encoding::kProtobuf)->object(sample_pod());
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->name, "dcgm");
  EXPECT_EQ(pod->name_space, "gpu-operator");
  EXPECT_EQ(pod->uid, Uid::from("u-1"));
  EXPECT_EQ(pod->node, "gpu-07");
  EXPECT_EQ(pod->labels, (std::vector<std::pair<std::string, std::string>>{{"app", "nvidia-dcgm"}}));
  EXPECT_EQ(pod->images, (std::vector<std::string>{"dcgm:4.2", ""}));
  EXPECT_TRUE(pod->ready) << "the first condition of the type counts";
}

TEST(ProtobufDecoder, ReadsAllKindsOfEvents) {
  const auto decoder = make_node_decoder(kSelected, Encoding::kProtobuf);
  const auto event = [&](std::string_view type, const std::string& object) { return decoder->event(frame_of(type, object)); };
  const std::string node = enveloped("Node", sample_node());
  for (const auto type : {"ADDED", "MODIFIED"}) {
    EXPECT_EQ(std::get<Applied<Node>>(event(type, node)->what).object.name.str(), "gpu-07");
    EXPECT_EQ(event(type, node)->version.str(), "41");
  }
  EXPECT_EQ(std::get<Deleted<Node>>(event("DELETED", node)->what).last.name.str(), "gpu-07");
  const auto plain = event("BOOKMARK", enveloped("Node", protobuf::node("", "50")));
  EXPECT_EQ(plain->version.str(), "50");
  EXPECT_FALSE(std::get<Bookmark>(plain->what).initial_end);
  const auto mark = decoder->event(protobuf::initial_end("51").substr(4));
  EXPECT_EQ(mark->version.str(), "51");
  EXPECT_TRUE(std::get<Bookmark>(mark->what).initial_end);
  EXPECT_EQ(std::get<UnknownEvent>(event("LATER", node)->what).type, "LATER");
  const auto failed = event("ERROR", enveloped("Status", field(3, "too old") + field(4, "Expired") + number(6, 410)));
  EXPECT_EQ(std::get<WatchFailed>(failed->what).error.code, ErrorCode::kGone);
  const auto reason_alone = event("ERROR", enveloped("Status", field(4, "Expired")));
  EXPECT_EQ(std::get<WatchFailed>(reason_alone->what).error.code, ErrorCode::kGone);
}

TEST(ProtobufDecoder, SaysWhoAnObjectIsThatItCannotRead) {
  const std::string node = protobuf::node("gpu-07", "41") + "\x07";
  const auto nodes = make_node_decoder(kSelected, Encoding::kProtobuf);
  EXPECT_FALSE(nodes->object(node));
  EXPECT_EQ(nodes->who(node).name.str(), "gpu-07");
  EXPECT_FALSE(nodes->event(frame_of("ADDED", enveloped("Node", node))));
  EXPECT_EQ(nodes->who(frame_of("ADDED", enveloped("Node", node))).name.str(), "gpu-07");
  EXPECT_TRUE(nodes->who("\x07").name.empty());
  EXPECT_FALSE(nodes->object(protobuf::node("", "1"))) << "nameless";
  EXPECT_FALSE(make_pod_decoder(Encoding::kProtobuf)->object(field(1, field(1, "without uid"))));
}

TEST(DecodeStatus, ReadsAFailureInProtobuf) {
  const Status status = decode_status(enveloped("Status", field(2, "Failure") + field(3, "no such node") + field(4, "NotFound") +
                                                              field(5, field(1, "n1")) + number(6, 404)));
  EXPECT_EQ(status.code, 404);
  EXPECT_EQ(status.reason, "NotFound");
  EXPECT_EQ(status.message, "no such node");
}

TEST(EncodingOf, IsWhatTheContentTypeSays) {
  EXPECT_EQ(encoding_of("application/vnd.kubernetes.protobuf;stream=watch"), Encoding::kProtobuf);
  EXPECT_EQ(encoding_of("application/vnd.kubernetes.protobuf"), Encoding::kProtobuf);
  EXPECT_EQ(encoding_of("application/json"), Encoding::kJson);
  EXPECT_EQ(encoding_of(std::nullopt), Encoding::kJson);
  EXPECT_EQ(accept_list(Detail::kMetadata, Encoding::kProtobuf),
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json");
  EXPECT_EQ(accept_object(Detail::kWhole, Encoding::kProtobuf), "application/vnd.kubernetes.protobuf,application/json");
}

// ---- bytes that nobody meant -------------------------------------------------------------------------------------------

// Everything that reads foreign bytes, on the same ones; a value or an error, never a crash (the sanitizers watch).
struct Everything {
  std::unique_ptr<Decoder<Node>> nodes = make_node_decoder(kSelected, Encoding::kProtobuf);
  std::unique_ptr<Decoder<Pod>> pods = make_pod_decoder(Encoding::kProtobuf);
  int values = 0;
  int errors = 0;

  void read(const std::string& whole) {
    const std::vector<char> own(whole.begin(), whole.end());    // a byte too far is one outside
    const std::string_view bytes(own.data(), own.size());
    const auto count = [this](bool good) { ++(good ? values : errors); };
    count(nodes->object(bytes).has_value());
    count(pods->object(bytes).has_value());
    count(nodes->event(bytes).has_value());
    count(pods->event(bytes).has_value());
    nodes->who(bytes);
    pods->who(bytes);
    decode_status(bytes);
    ProtobufItemSplitter list;
    for (std::size_t at = 0; at < bytes.size(); at += 11) {
      if (!list.feed(bytes.substr(at, 11),
                     [&](std::string_view item) -> Result<> { return count(nodes->object(item).has_value()), Result<>{}; })) {
        break;
      }
    }
    count(list.complete() && list.meta());
    FrameSplitter frames;
    count(
        frames.feed(bytes, [&](std::string_view event) -> Result<> { return count(pods->event(event).has_value()), Result<>{}; })
            .has_value());
  }
};

std::vector<std::string> samples() {
  return {sample_node(),
          sample_pod(),
          enveloped("Node", sample_node()),
          frame("MODIFIED", enveloped("Pod", sample_pod())) + protobuf::initial_end("7"),
          frame_of("ADDED", enveloped("Node", sample_node())),
          frame_of("ERROR", enveloped("Status", field(4, "Expired") + number(6, 410))),
          protobuf::list("NodeList", "41", "next", field(2, sample_node()) + field(2, protobuf::node("b", "2")))};
}

TEST(ProtobufDecoder, AnyTruncationIsAValueOrAnError) {
  Everything everything;
  for (const std::string& sample : samples()) {
    for (std::size_t size = 0; size <= sample.size(); ++size) everything.read(sample.substr(0, size));
  }
  EXPECT_GT(everything.values, 0);
  EXPECT_GT(everything.errors, 0);
}

TEST(ProtobufDecoder, AnyMutationIsAValueOrAnError) {
  Everything everything;
  std::minstd_rand random(1);
  const auto below = [&](std::size_t most) { return std::uniform_int_distribution<std::size_t>(0, most - 1)(random); };
  const std::vector<std::string> all = samples();
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = all[below(all.size())];
    for (std::size_t changes = 1 + below(4); changes != 0; --changes) {
      const std::size_t at = below(bytes.size());
      switch (below(4)) {
        case 0: bytes[at] = static_cast<char>(below(256)); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8)); break;
        case 2: bytes.insert(at, protobuf::varint(std::uint64_t{1} << below(64))); break;
        default: bytes.erase(at, below(9));
      }
      if (bytes.empty()) bytes = "\x0a";
    }
    everything.read(bytes);
  }
  EXPECT_GT(everything.values, 0);
  EXPECT_GT(everything.errors, 0);
}

}  // namespace
}  // namespace nodeward::kube

// The reflector where the server may answer in protobuf: what it asks for, and that it reads whichever comes.
#include <gtest/gtest.h>

#include "kube/protobuf_decode.h"
#include "kube/protobuf_script.h"
#include "kube/reflector_script.h"

namespace nodeward::kube {
namespace {

// As Script, with a reflector that can read both.
struct BothScript {
  explicit BothScript(bool streaming = false)
      : reflector(script.client, {.name = "nodes", .path = "/api/v1/nodes"}, make_node_decoder({}), script.seen, script.clock,
                  {.streaming = streaming, .watch_least = 5min, .watch_most = 5min}, make_node_decoder({}, Encoding::kProtobuf)) {
  }

  Script script;
  Reflector<Node> reflector;

  // What the sink saw of these answers.
  Words play(std::deque<Result<Answer>> answers) {
    script.answers = std::move(answers);
    std::jthread mover([this](const std::stop_token& done) {
      while (!done.stop_requested()) {
        script.clock.advance_to_next();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
    reflector.run(script.stop.get_token());
    return script.seen.words;
  }
  std::string accept(std::size_t request) const { return script.requests.at(request).headers.at(0).value; }
  // What came first in each request's Accept.
  Words asked_for() const {
    Words words;
    for (const auto& request : script.requests) {
      words.push_back(request.headers.at(0).value.starts_with(kProtobufType) ? "protobuf" : "json");
    }
    return words;
  }
};

Answer in_protobuf(std::string body) {
  return net::Response{200, {{"content-type", "application/vnd.kubernetes.protobuf;stream=watch"}}, std::move(body)};
}
std::string event(std::string_view type, std::string_view name, std::string_view version) {
  return protobuf::frame(type, protobuf::enveloped("PartialObjectMetadata", protobuf::node(name, version)));
}
std::string item(std::string_view name) { return protobuf::field(2, protobuf::node(name, "1")); }

TEST(ReflectorInProtobuf, ListsInPagesThenWatches) {
  BothScript both;
  EXPECT_EQ(both.play({in_protobuf(protobuf::list("NodeList", "7", "next page", item("a") + item("b"))),
                       in_protobuf(protobuf::list("NodeList", "7", "", item("c"))),
                       in_protobuf(event("ADDED", "d", "8") + event("DELETED", "a", "9") +
                                   event("ADDED", "half", "10").substr(0, 50))}),
            (Words{"begin", "+a", "+b", "+c", "end 7", "+d", "-a"}));
  EXPECT_EQ(both.script.asked(),
            (Words{kFirstPage, "/api/v1/nodes?limit=500&continue=next%20page", watch_from(7), watch_from(9)}));
  EXPECT_EQ(both.accept(0), accept_list(Detail::kMetadata, Encoding::kProtobuf));
  EXPECT_EQ(both.accept(2), accept_object(Detail::kMetadata, Encoding::kProtobuf));
}

TEST(ReflectorInProtobuf, ReadsAStreamingListAndGoesOnInTheSameStream) {
  BothScript both(true);
  EXPECT_EQ(both.play({in_protobuf(event("ADDED", "a", "3") + protobuf::initial_end("7") + event("MODIFIED", "a", "8"))}),
            (Words{"begin", "+a", "end 7", "+a"}));
}

TEST(ReflectorInProtobuf, RelistsWhenTheWatchSaysGone) {
  BothScript both;
  const std::string status = protobuf::field(4, "Expired") + protobuf::number(6, 410);
  EXPECT_EQ(both.play({in_protobuf(protobuf::list("NodeList", "7", "", "")),
                       in_protobuf(protobuf::frame("ERROR", protobuf::enveloped("Status", status))),
                       in_protobuf(protobuf::list("NodeList", "20", "", item("b")))}),
            (Words{"begin", "end 7", "begin", "+b", "end 20"}));
}

TEST(ReflectorInProtobuf, ATornListIsReadAgainFromTheFirstPage) {
  BothScript both;
  const std::string page = protobuf::list("NodeList", "7", "", item("a") + item("b"));
  EXPECT_EQ(both.play({in_protobuf(page.substr(0, page.size() - 40)), in_protobuf(page)}),
            (Words{"begin", "+a", "begin", "+a", "+b", "end 7"}));
}

TEST(ReflectorInProtobuf, AnUnreadableObjectHidesNoOther) {
  BothScript both;
  const std::string bad = protobuf::field(2, protobuf::node("bad", "1") + "\x07");
  EXPECT_EQ(both.play({in_protobuf(protobuf::list("NodeList", "7", "", item("a") + bad + item("c")))}),
            (Words{"begin", "+a", "?bad", "+c", "end 7"}));
}

TEST(ReflectorInProtobuf, ReadsJsonFromAServerThatHasNothingElse) {
  BothScript both;
  EXPECT_EQ(both.play({list(7, {node("a", 1)}), answer(200, line("ADDED", node("b", 8)))}),
            (Words{"begin", "+a", "end 7", "+b"}));
  EXPECT_EQ(both.asked_for(), Words(3, "protobuf")) << "JSON is the second choice in each";
}

TEST(ReflectorInProtobuf, AServerThatRefusesTheQuestionIsAskedForJsonFromThenOn) {
  for (const int refusal : {406, 415}) {
    BothScript both;
    EXPECT_EQ(both.play({answer(refusal, "no such type"), list(7, {node("a", 1)}), answer(200, line("ADDED", node("b", 8)))}),
              (Words{"begin", "+a", "end 7", "+b"}));
    EXPECT_EQ(both.asked_for(), (Words{"protobuf", "json", "json", "json"})) << refusal;
  }
}

TEST(ReflectorInProtobuf, WhatIsRefusedInJsonTooWasNoMatterOfTheEncoding) {
  BothScript both(true);
  EXPECT_EQ(both.play({answer(422, "no streaming lists"), answer(422, "no streaming lists"),
                       in_protobuf(protobuf::list("NodeList", "7", "", item("a")))}),
            (Words{"begin", "+a", "end 7"}));
  EXPECT_EQ(both.asked_for(), (Words{"protobuf", "json", "protobuf", "protobuf"}));
}

}  // namespace
}  // namespace nodeward::kube

#include "kube/decode.h"

#include <gtest/gtest.h>

#include "kube/answers.h"

namespace nodeward::kube {
namespace {

constexpr auto kNode =
    R"({"kind":"Node","metadata":{"name":"gpu-07","uid":"00000000-0000-4000-8000-000000000007","resourceVersion":"41",
 "labels":{"keep":"yes","drop":"no","caf\u00e9":"\u2603"},"annotations":{"note":"abc","other":"12345"}},
 "spec":{"unschedulable":true,"taints":[{"key":"a","effect":"NoSchedule","timeAdded":"2026-08-31T08:30:00Z", "later":{"x":[1]} },{"value":"v","key":"b","effect":"NoExecute"}]},
 "status":{"images":[{"names":["x"]}]}})";

NodeSelection all_kept() {
  return {.labels = {.all = true, .keys = {}}, .annotations = {.all = false, .keys = {"note"}}, .spec = true};
}

TEST(NodeDecoder, KeepsWhatWasSelected) {
  const auto decoder = make_node_decoder({.labels = {.all = false, .keys = {"keep"}}, .annotations = {}, .spec = false});
  const auto node = decoder->object(kNode);
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->name.str(), "gpu-07");
  EXPECT_EQ(node->version.str(), "41");
  EXPECT_EQ(node->uid, Uid::from("00000000-0000-4000-8000-000000000007"));
  EXPECT_EQ(node->labels.size(), 1U);
  EXPECT_EQ(node->labels.get("keep"), "yes");
  EXPECT_EQ(node->annotation_bytes, 4U + 3 + 5 + 5);
  EXPECT_TRUE(node->taints.empty());
  EXPECT_FALSE(node->unschedulable);
}

TEST(NodeDecoder, KeepsTaintsAsTheyCame) {
  const auto node = make_node_decoder(all_kept())->object(kNode);
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_TRUE(node->unschedulable);
  EXPECT_EQ(node->labels.get("caf\xC3\xA9"), "\xE2\x98\x83");
  EXPECT_EQ(node->annotations.get("note"), "abc");
  ASSERT_EQ(node->taints.size(), 2U);
  EXPECT_EQ(node->taints[0].raw, R"({"key":"a","effect":"NoSchedule","timeAdded":"2026-08-31T08:30:00Z", "later":{"x":[1]} })");
  EXPECT_EQ(node->taints[0].key, "a");
  EXPECT_EQ(node->taints[1].value, "v");
  EXPECT_EQ(node->taints[1].effect, "NoExecute");
}

TEST(NodeDecoder, NullsAndMissingPartsAreEmpty) {
  const auto decoder = make_node_decoder(all_kept());
  for (const auto json :
       {R"({"metadata":{"name":"n"}})", R"({"metadata":{"name":"n","labels":null,"annotations":null},"spec":null,"status":null})",
        R"({"spec":{"taints":null,"unschedulable":null},"metadata":{"name":"n"}})"}) {
    const auto node = decoder->object(json);
    ASSERT_TRUE(node) << json << node.error().message;
    EXPECT_TRUE(node->labels.empty() && node->taints.empty() && !node->unschedulable);
  }
}

TEST(NodeDecoder, KeepsOtherMembersAsJson) {
  constexpr std::string_view kJson =
      R"({"metadata":{"uid":"u-1","name":"n","resourceVersion":"7","generation":3 ,"creationTimestamp":null,"finalizers":["a", "b"]},)"
      R"("spec":{"providerID":"aws:///i-1" ,"podCIDR":"10.0.0.0/24","configSource":{"x":{"y":1}} ,"taints":[]},"status":{"phase":"x"}})";
  const auto kept = [&](KeySet metadata, KeySet spec) {
    NodeSelection selection{
        .labels = {}, .annotations = {}, .spec = true, .metadata_members = std::move(metadata), .spec_members = std::move(spec)};
    const auto node = make_node_decoder(std::move(selection))->object(kJson);
    EXPECT_TRUE(node) << node.error().message;
    std::string all;
    for (const auto& [path, json] : node->members) all += std::string(path.view()) + "=" + std::string(json.view()) + ";";
    return all;
  };
  EXPECT_EQ(kept({}, {}), "");
  EXPECT_EQ(kept({.all = false, .keys = {"uid", "finalizers"}}, {.all = false, .keys = {"providerID", "taints"}}),
            R"(metadata.finalizers=["a", "b"];metadata.uid="u-1";spec.providerID="aws:///i-1";)");
  EXPECT_EQ(kept({.all = true, .keys = {}}, {.all = true, .keys = {}}),
            R"(metadata.finalizers=["a", "b"];metadata.generation=3;metadata.uid="u-1";spec.configSource={"x":{"y":1}};)"
            R"(spec.podCIDR="10.0.0.0/24";spec.providerID="aws:///i-1";)");
}

TEST(NodeDecoder, TellsWhetherThereAreLabelsAtAll) {
  const auto decoder = make_node_decoder({.labels = {.all = false, .keys = {"x"}}, .annotations = {}});
  EXPECT_TRUE(decoder->object(kNode)->labelled);
  EXPECT_FALSE(decoder->object(R"({"metadata":{"name":"n","labels":{}}})")->labelled);
  EXPECT_FALSE(decoder->object(R"({"metadata":{"name":"n"}})")->labelled);
}

TEST(NodeDecoder, RefusesWhatIsNoNode) {
  const auto decoder = make_node_decoder(all_kept());
  for (const auto json : {"", "{", "[]", "7", R"({"metadata":{}})", R"({"metadata":{"name":7}})",
                          R"({"metadata":{"name":"n","labels":[]}})", R"({"metadata":{"name":"n")"}) {
    EXPECT_FALSE(decoder->object(json)) << json;
  }
  EXPECT_TRUE(decoder->object(kNode)) << "a bad object must not spoil the next";
}

TEST(PodDecoder, ReadsImagesReadinessAndPlace) {
  const auto pod = make_pod_decoder()->object(
      R"({"metadata":{"name":"p","namespace":"ns","uid":"u-1","resourceVersion":"5","labels":{"app":"nvidia-dcgm"}},
          "spec":{"containers":[{"name":"a","image":"x:1"},{"name":"b"}],"nodeName":"n1"},
          "status":{"conditions":[{"type":"PodScheduled","status":"False"},{"type":"Ready","status":"True"},{"type":"Ready","status":"False"}]}})");
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->node, "n1");
  EXPECT_EQ(pod->images, (std::vector<std::string>{"x:1", ""}));
  EXPECT_TRUE(pod->ready);
  EXPECT_EQ(pod->labels.at(0).second, "nvidia-dcgm");
}

TEST(PodDecoder, LivesWithNulls) {
  const auto decoder = make_pod_decoder();
  for (const auto json :
       {R"({"metadata":{"uid":"u","name":"p","labels":null},"spec":{"containers":null,"nodeName":null},"status":null})",
        R"({"metadata":{"uid":"u","name":"p"},"status":{"conditions":null}})"}) {
    const auto pod = decoder->object(json);
    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_FALSE(pod->ready);
  }
}

TEST(WatchEvents, AreReadByType) {
  const auto decoder = make_node_decoder({});
  const auto added = decoder->event(R"({"type":"ADDED","object":{"metadata":{"name":"n","resourceVersion":"9"}}})");
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_EQ(std::get<Applied<Node>>(added->what).object.name.str(), "n");
  EXPECT_EQ(added->version.str(), "9");
  EXPECT_TRUE(
      std::holds_alternative<Deleted<Node>>(decoder->event(R"({"type":"DELETED","object":{"metadata":{"name":"n"}}})")->what));
  const auto mark = decoder->event(
      R"({"type":"BOOKMARK","object":{"kind":"Node","metadata":{"resourceVersion":"230","creationTimestamp":null}}})");
  EXPECT_EQ(std::get<Bookmark>(mark->what).version.str(), "230");
  const auto gone = decoder->event(
      R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}})");
  EXPECT_EQ(std::get<WatchFailed>(gone->what).error.code, ErrorCode::kGone);
  EXPECT_EQ(std::get<UnknownEvent>(decoder->event(R"({"type":"SHRUG","object":{}})")->what).type, "SHRUG");
  const auto turned = decoder->event(R"({"object":{"metadata":{"name":"n","resourceVersion":"9"}},"type":"ADDED"})");
  EXPECT_TRUE(turned && std::holds_alternative<Applied<Node>>(turned->what));
}

TEST(WatchEvents, AnErrorIsReadWhateverItsObjectCallsItself) {
  const auto decoder = make_pod_decoder();
  const auto code_of = [&](std::string_view object) {
    const auto event = decoder->event(R"({"type":"ERROR","object":)" + std::string(object) + "}");
    return std::get<WatchFailed>(event->what).error.code;
  };
  EXPECT_EQ(code_of(R"({"code":410})"), ErrorCode::kGone);
  EXPECT_EQ(code_of(R"({"reason":"Expired"})"), ErrorCode::kGone);
  EXPECT_EQ(code_of(R"({"reason":"Gone","code":410})"), ErrorCode::kGone);
  EXPECT_EQ(code_of(R"({"reason":"InternalError","code":500})"), ErrorCode::kUnavailable);
  EXPECT_EQ(code_of("{}"), ErrorCode::kUnavailable);
}

TEST(WatchEvents, TheMarkOfTheInitialEndIsToldFromOtherBookmarks) {
  const auto decoder = make_node_decoder({});
  const auto mark = [&](std::string_view metadata) {
    const auto event = decoder->event(R"({"type":"BOOKMARK","object":{"metadata":)" + std::string(metadata) + "}}");
    return std::get<Bookmark>(event->what).initial_end;
  };
  EXPECT_TRUE(mark(R"({"resourceVersion":"5","annotations":{"k8s.io/initial-events-end":"true"}})"));
  EXPECT_FALSE(mark(R"({"resourceVersion":"5","annotations":{"k8s.io/initial-events-end":"false"}})"));
  EXPECT_FALSE(mark(R"({"resourceVersion":"5","annotations":null})"));
  EXPECT_FALSE(mark(R"({"resourceVersion":"5"})"));
  EXPECT_FALSE(mark("null"));
}

TEST(Who, AnUnreadableObjectIsKnownByWhatCanBeRead) {
  const auto nodes = make_node_decoder({});
  EXPECT_EQ(nodes->who("{\"metadata\":{\"labels\":{\"a\":\"\xff\"},\"name\":\"n1\"}}").name, NodeName{"n1"});
  EXPECT_EQ(nodes->who(R"({"metadata":{"name":"n1","labels":[1,,]}})").name, NodeName{"n1"});
  EXPECT_EQ(nodes->who(R"({"type":"ADDED","object":{"kind":"Node","metadata":{"name":"n1"}}})").name, NodeName{"n1"});
  EXPECT_TRUE(nodes->who("no JSON").name.empty());
  const Pod pod = make_pod_decoder()->who(R"({"metadata":{"name":"p","namespace":"ns","uid":"u","labels":[]}})");
  EXPECT_EQ(pod.uid, Uid::from("u"));
  EXPECT_EQ(pod.name_space + "/" + pod.name, "ns/p");
}

TEST(ListMeta, GivesVersionAndNextPage) {
  const auto meta = decode_list_meta(R"({"metadata":{"resourceVersion":"12","continue":"abc"},"items":[]})");
  EXPECT_EQ(meta->version.str(), "12");
  EXPECT_EQ(meta->continue_token, "abc");
  EXPECT_FALSE(decode_list_meta("<html>"));
  EXPECT_TRUE(decode_list_meta(R"({"metadata":{"resourceVersion":"12","continue":null},"items":[]})")->continue_token.empty());
  EXPECT_TRUE(decode_list_meta(R"({"metadata":{"resourceVersion":12},"items":[]})")->version.empty());
  EXPECT_FALSE(decode_list_meta(R"({"kind":"Status"})"));
}

TEST(ListMeta, MembersOfAnotherTypeCountAsMissing) {
  const auto meta = decode_list_meta(R"({"metadata":{"resourceVersion":12,"continue":null},"items":[]})");
  ASSERT_TRUE(meta) << meta.error().message;
  EXPECT_TRUE(meta->version.empty());
  EXPECT_EQ(meta->continue_token, "");
}

TEST(Answers, SayWhatToDoNext) {
  EXPECT_EQ(error_of(decode_status(R"({"kind":"Status","code":409,"reason":"Conflict","message":"modified"})"), 409).message,
            "409 Conflict: modified");
  EXPECT_EQ(error_of(decode_status("upstream down\nlong page"), 503).code, ErrorCode::kThrottled);
  EXPECT_EQ(error_of(decode_status(""), 500).message, "500 no message");
  EXPECT_EQ(error_of(decode_status(R"({"kind":"Status","code":"x","reason":1,"message":null})"), 500).message, "500 no message");
  EXPECT_EQ(error_of(decode_status(R"({"kind":7})"), 500).code, ErrorCode::kUnavailable) << "no Status at all";
  EXPECT_EQ(error_of(decode_status(R"({"kind":"Status","code":1e999})"), 500).code, ErrorCode::kUnavailable);
  EXPECT_EQ(error_of({}, 422).code, ErrorCode::kInvalid);
  EXPECT_EQ(error_of({}, 504).code, ErrorCode::kTimeout);
}

TEST(Answers, AVersionThatIsYetToComeIsAsGoneAsOneThatWasCompacted) {
  const std::string_view body =
      R"({"kind":"Status","code":504,"reason":"Timeout","message":"Timeout: Too large resource version: 900, current: 63"})";
  EXPECT_EQ(error_of(decode_status(body), 504).code, ErrorCode::kGone);
}

TEST(Answers, A404IsOfTheObjectOnlyWhenAStatusSaysSo) {
  EXPECT_EQ(error_of(decode_status(R"({"kind":"Status","code":404,"reason":"NotFound"})"), 404).code, ErrorCode::kNotFound);
  for (const std::string_view body : {"", "404 page not found", "<html>default backend - 404</html>", R"({"code":404})"}) {
    EXPECT_EQ(error_of(decode_status(body), 404).code, ErrorCode::kUnavailable) << body;
  }
}

TEST(Answers, AStatusOfOddShapeCostsItsOddPartsOnly) {
  EXPECT_EQ(error_of(decode_status(R"({"kind":"Status","code":"410","reason":{},"message":null})"), 422).message,
            "422 no message");
  EXPECT_EQ(error_of(decode_status(R"({"kind":"Status","code":1.5,"reason":"Odd","message":"m"})"), 500).message, "500 Odd: m");
  EXPECT_EQ(error_of(decode_status(R"({"kind":7})"), 500).code, ErrorCode::kUnavailable);
  const auto event = make_node_decoder({})->event(R"({"type":"ERROR","object":{"kind":"Status","code":"410","message":[1]}})");
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_TRUE(std::holds_alternative<WatchFailed>(event->what));
}

TEST(Answers, AnAbsurdRetryAfterIsTwoMinutes) {
  const WallTime now{std::chrono::seconds{1788246000}};
  EXPECT_EQ(parse_retry_after("1000000000", now), 2min);
  EXPECT_EQ(parse_retry_after("Tue, 01 Sep 2099 07:00:10 GMT", now), 2min);
}

TEST(Answers, RetryAfterIsSecondsOrADate) {
  const WallTime now{std::chrono::seconds{1788246000}};   // Tue, 01 Sep 2026 07:00:00 GMT
  EXPECT_EQ(parse_retry_after("3", now), 3s);
  EXPECT_EQ(parse_retry_after("-3", now), 0s);
  EXPECT_EQ(parse_retry_after("Tue, 01 Sep 2026 07:00:10 GMT", now), 10s);
  EXPECT_EQ(parse_retry_after("Tue, 01 Sep 2026 06:00:10 GMT", now), 0s);
  EXPECT_EQ(parse_retry_after("Fri, 31 Dec 9999 23:59:59 GMT", now), 2min) << "beyond what a clock can count";
  EXPECT_FALSE(parse_retry_after("soon", now));
}

}  // namespace
}  // namespace nodeward::kube

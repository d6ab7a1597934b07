// What may not be sent yet: the fence of a copy that stands by, the rate, a server that cannot be reached.
#include "nodes/node_writer_fixture.h"

namespace nodeward::nodes {
namespace {

TEST_F(NodeWriterAnswers, NothingIsSentBehindTheFence) {
  bool leads = false;
  writer_ = make_writer(
      {.field_manager = "labeler", .selection = selection_, .qps = 1, .burst = 1, .fence = {.may_write = [&] { return leads; }}});
  watch_shows(node_json(5));
  for (int i = 0; i < 3; ++i) {
    const Outcome outcome = apply();
    ASSERT_TRUE(std::holds_alternative<Later>(outcome));
    EXPECT_EQ(std::get<Later>(outcome).reason, Later::Reason::kFenced);
  }
  EXPECT_EQ(verbs(), Verbs{});
  leads = true;
  writer_->resume();
  EXPECT_EQ(woken_, std::vector<std::string>{"n1"}) << "once, and without having used up its rate";
  script_ = {ok(6)};
  EXPECT_TRUE(std::holds_alternative<Written>(apply()));
}

TEST_F(NodeWriterAnswers, ANodeThatGoesIsNotRememberedBehindTheFence) {
  writer_ = make_writer(
      {.field_manager = "labeler", .selection = selection_, .qps = -1, .fence = {.may_write = [] { return false; }}});
  watch_shows(node_json(5));
  apply();
  writer_->forget(NodeName{"n1"});
  writer_->resume();
  EXPECT_EQ(woken_, std::vector<std::string>{});
}

TEST_F(NodeWriterAnswers, TheFenceFallsBetweenAConflictAndTheNextTry) {
  bool leads = true;
  writer_ = make_writer(
      {.field_manager = "fault-quarantine", .selection = selection_, .qps = -1, .fence = {.may_write = [&] { return leads; }}});
  watch_shows(node_json(5));
  script_ = {status(409, "Conflict"), ok(6)};
  before_answer_ = [&](const Request&) { leads = false; };
  EXPECT_EQ(std::get<Later>(apply(taint_wanted)).reason, Later::Reason::kFenced);
  EXPECT_EQ(verbs(), (Verbs{"PATCH", "GET"}));
}

TEST_F(NodeWriterAnswers, TheFenceIsAskedAgainAfterCredentialsWereWaitedFor) {
  bool leads = true;
  kube::Client client(transport_, {.authorization = [&](const auto&) { return leads = false, Result<std::string>("Bearer x"); }},
                      clock_);
  NodeWriter writer(
      client, view_, clock_,
      {.field_manager = "labeler", .selection = selection_, .qps = -1, .fence = {.may_write = [&] { return leads; }}},
      [](const NodeName&) {});
  watch_shows(node_json(5));
  EXPECT_EQ(std::get<Later>(writer.apply(n1, label_wanted, {})).reason, Later::Reason::kFenced);
  EXPECT_EQ(verbs(), Verbs{});
}

TEST_F(NodeWriterAnswers, JustAfterTheLeaseWasTakenEveryBodyIsGuarded) {
  bool young = true;
  writer_ = make_writer(
      {.field_manager = "labeler", .selection = selection_, .qps = -1, .fence = {.guard_all = [&] { return young; }}});
  watch_shows(node_json(5));
  script_ = {ok(6)};
  apply();
  EXPECT_EQ(transport_.requests().back().body, R"({"metadata":{"labels":{"l":"1"},"resourceVersion":"5"}})");
}

TEST_F(NodeWriterAnswers, ALeaseTakenWhenThePlanWasMadeAlreadyGuardsThatBodyToo) {
  bool taken = false;
  writer_ = make_writer({.field_manager = "labeler",
                         .selection = selection_,
                         .qps = -1,
                         .fence = {.may_write = [&] { return taken = true; }, .guard_all = [&] { return taken; }}});
  watch_shows(node_json(5));
  script_ = {ok(6)};
  apply();
  ASSERT_EQ(verbs(), Verbs{"PATCH"});
  EXPECT_EQ(transport_.requests().back().body, R"({"metadata":{"labels":{"l":"1"},"resourceVersion":"5"}})");
}

TEST_F(NodeWriterAnswers, ANodeKeepsItsPlaceInTheRate) {
  writer_ = make_writer({.field_manager = "labeler", .selection = selection_, .qps = 5, .burst = 1});
  watch_shows(node_json(5));
  script_ = {ok(6), ok(7, R"({"l":"2"})")};
  EXPECT_TRUE(std::holds_alternative<Written>(apply()));
  const auto second = [](const Node& node) { return std::move(NodePatch(node.name).label("l", "2")); };
  EXPECT_EQ(wait_of(apply(second)), 200ms);
  clock_.advance(150ms);
  EXPECT_EQ(wait_of(apply(second)), 50ms) << "asking again does not go to the back of the line";
  clock_.advance(50ms);
  EXPECT_TRUE(std::holds_alternative<Written>(apply(second)));
}

TEST_F(NodeWriterAnswers, APlanThatTurnsEmptyWhileItWaitsGivesItsPlaceBack) {
  writer_ = make_writer({.field_manager = "labeler", .selection = selection_, .qps = 5, .burst = 1});
  watch_shows(node_json(5));
  script_ = {ok(6), ok(8, R"({"l":"3"})")};
  apply();
  EXPECT_EQ(wait_of(apply([](const Node& node) { return std::move(NodePatch(node.name).label("l", "2")); })), 200ms);
  EXPECT_TRUE(std::holds_alternative<Unchanged>(apply()));
  clock_.advance(200ms);
  EXPECT_TRUE(
      std::holds_alternative<Written>(apply([](const Node& node) { return std::move(NodePatch(node.name).label("l", "3")); })));
}

TEST_F(NodeWriterAnswers, AServerThatCannotBeReachedHoldsUpEveryNode) {
  watch_shows(node_json(5));
  watch_shows(R"({"metadata":{"name":"n2","resourceVersion":"5"}})");
  script_ = {fail(ErrorCode::kUnreachable, "connection refused"),
             Response{200, {}, R"({"metadata":{"name":"n2","resourceVersion":"6"}})"}};
  apply();
  const Outcome other = writer_->apply(NodeName{"n2"}, label_wanted, {});
  EXPECT_TRUE(std::holds_alternative<Later>(other)) << "one knock on a dead door is enough";
  EXPECT_EQ(verbs(), Verbs{"PATCH"});
  clock_.advance(wait_of(other));
  EXPECT_TRUE(std::holds_alternative<Written>(writer_->apply(NodeName{"n2"}, label_wanted, {})));
}

TEST_F(NodeWriterAnswers, ATimeOutDoesNotSayThatTheServerIsThereAgain) {
  watch_shows(node_json(5));
  watch_shows(R"({"metadata":{"name":"n2","resourceVersion":"5"}})");
  watch_shows(R"({"metadata":{"name":"n3","resourceVersion":"5"}})");
  const auto unreachable = fail(ErrorCode::kUnreachable, "connection refused");
  script_ = {unreachable, fail(ErrorCode::kTimeout, "no answer"), unreachable};
  apply();
  clock_.advance(110ms);
  writer_->apply(NodeName{"n2"}, label_wanted, {});
  const Outcome third = writer_->apply(NodeName{"n3"}, label_wanted, {});
  EXPECT_GT(wait_of(writer_->apply(NodeName{"n4"}, label_wanted, {})), 150ms)
      << "the second failure in a row, not the first again";
  EXPECT_EQ(std::get<Later>(third).reason, Later::Reason::kFailed);
}

}  // namespace
}  // namespace nodeward::nodes

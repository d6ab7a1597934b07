#include "events/lines/lines_source.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <set>
#include <thread>

#include "base/fake_clock.h"
#include "base/json.h"
#include "base/text.h"
#include "events/lines/uuid.h"

namespace nodeward::events::lines {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LinesTest : public ::testing::Test {
 protected:
  LinesTest() { std::filesystem::create_directories(folder_); }
  ~LinesTest() override { std::filesystem::remove_all(folder_); }

  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  void append(std::string_view text) const { std::ofstream(path("events"), std::ios::app | std::ios::binary) << text; }
  std::unique_ptr<LinesSource> open(bool follow = false) {
    auto source = LinesSource::open({.path = path("events"), .follow = follow}, path("outcomes"), clock_);
    EXPECT_TRUE(source) << source.error().message;
    return std::move(*source);
  }
  std::unique_ptr<LinesSource> open_with(std::string_view text) {
    append(text);
    return open();
  }
  // Every delivery as one short text.
  std::vector<std::string> all(LinesSource& source) {
    std::vector<std::string> deliveries;
    while (true) {
      const Delivery delivery = source.next({}).value();
      if (const auto* arrived = std::get_if<Arrived>(&delivery)) {
        deliveries.push_back(fmt::format("{} {}", arrived->position, arrived->event.node_name));
      } else if (const auto* bad = std::get_if<Unreadable>(&delivery)) {
        deliveries.push_back(fmt::format("{} {}", bad->position, bad->why));
      } else {
        return deliveries;
      }
    }
  }
  std::vector<std::string> outcomes() const { return split(trimmed(read_file(path("outcomes")).value()), '\n'); }

  FakeClock clock_;

 private:
  const std::filesystem::path folder_ = std::filesystem::temp_directory_path() / fmt::format("nodeward-lines-{}", getpid());
};

std::string event(std::string_view node) { return fmt::format(R"({{"nodeName":"{}"}})", node); }

TEST_F(LinesTest, GivesEventsWithTheNumberOfTheirLine) {
  const auto source = open_with(event("a") + "\n\n \t\r\n" + event("b") + "\r\n" +
                                R"({"events":[{"nodeName":"c"},{"nodeName":"d"}]})" + "\n" + event("e"));
  EXPECT_THAT(all(*source), ElementsAre("1 a", "4 b", "5 c", "5 d", "6 e"));
  EXPECT_TRUE(std::holds_alternative<End>(source->next({}).value()));
}

TEST_F(LinesTest, ABadLineIsNamedReportedAndPassed) {
  using namespace std::string_literals;
  const auto source = open_with(event("a") + "\n{\"nodeName\":\n{\"nodeName\":\"n\",\"isFatal\":1}\n{\"nodeName\":\"x\0y\"}\n"s +
                                "{\"nodeName\":\"\xff\"}\n" + std::string(10'000'000, ' ') + "x\n" + event("b") + "\n");
  EXPECT_THAT(all(*source), ElementsAre("1 a", "2 not JSON at byte 13", "3 isFatal: must be true or false, not 1",
                                        "4 holds a NUL byte; a line must be JSON text", "5 not UTF-8 at byte 14",
                                        "6 longer than 1048576 bytes, the most a line may have", "7 b"));
  EXPECT_THAT(outcomes(),
              ElementsAre(HasSubstr(R"({"line":2,"id":null,"node":null,"decision":"unreadable",)"), HasSubstr("\"line\":3"),
                          HasSubstr("\"line\":4"), HasSubstr("\"line\":5"), HasSubstr("\"line\":6")));
}

TEST_F(LinesTest, TheLastLineMayBeTooLongOrCut) {
  const auto source = open_with(event("a") + "\n" + std::string(kMaxLine + 1, 'x'));
  EXPECT_THAT(all(*source), ElementsAre("1 a", HasSubstr("2 longer than")));
  const auto exact = open_with("\n" + std::string(kMaxLine - event("b").size(), ' ') + event("b"));
  EXPECT_THAT(all(*exact), ElementsAre("1 a", HasSubstr("2 longer than"), "3 b"));
}

TEST_F(LinesTest, AnEventWithoutIdGetsOneOfItsLineAndText) {
  const auto ids = [this] {
    std::vector<std::string> found;
    const auto source = open();
    for (Delivery one = source->next({}).value(); !std::holds_alternative<End>(one); one = source->next({}).value()) {
      found.push_back(std::get<Arrived>(one).event.id);
    }
    return found;
  };
  append(event("a") + "\n" + event("a") + "\n" + R"({"events":[{"nodeName":"a"},{"nodeName":"a"},{"nodeName":"a","id":"own"}]})" +
         "\n");
  const auto first = ids();
  EXPECT_EQ(std::set<std::string>(first.begin(), first.end()).size(), 5U);
  EXPECT_EQ(first.at(4), "own");
  EXPECT_EQ(first, ids());   // the same file, the same ids
}

TEST(Uuid, FollowsTheStandard) {
  constexpr UuidBytes kDns = {0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8};
  EXPECT_EQ(uuid_v5(kDns, "www.example.com"), "2ed6657d-e927-568b-95e1-2665a8aea6a2");
  EXPECT_EQ(uuid_v5(kDns, std::string(200, 'a')), "fe30bfa6-ef90-59b3-b108-118411d0f0ab");
  EXPECT_EQ(uuid_v5(kDns, std::string(40, 'a')), "39f39c20-db47-5131-8879-62f8f67f9014");
}

TEST_F(LinesTest, OutcomesAreOneLineEach) {
  const auto source = open_with(R"({"nodeName":"gpu-1","id":"i1"})"
                                "\n"
                                R"({"nodeName":"gpu-2","id":"i2"})"
                                "\n");
  const Arrived first = std::get<Arrived>(source->next({}).value());
  const Arrived second = std::get<Arrived>(source->next({}).value());
  source->settle(second, {.decision = "ignore", .reason = "no rule set matches"});
  source->settle(first, {.decision = "quarantine", .status = "Quarantined", .rules = {"gpu-fatal", "r2"}, .requests = 1});
  EXPECT_THAT(
      outcomes(),
      ElementsAre(
          R"({"line":2,"id":"i2","node":"gpu-2","decision":"ignore","status":null,"rules":[],"reason":"no rule set matches","requests":0,"error":null})",
          R"({"line":1,"id":"i1","node":"gpu-1","decision":"quarantine","status":"Quarantined","rules":["gpu-fatal","r2"],"reason":null,"requests":1,"error":null})"));
  EXPECT_FALSE(source->lost_outcomes());
  EXPECT_THAT(source->description(), HasSubstr("statuses are stored nowhere"));
}

TEST_F(LinesTest, FollowWaitsForMoreAndForTheRestOfALine) {
  append(event("a") + "\n{\"nodeName\":");
  const auto source = open(true);
  EXPECT_EQ(std::get<Arrived>(source->next({}).value()).event.node_name, "a");
  auto waiting = std::async(std::launch::async, [&] { return source->next({}).value(); });
  while (clock_.waiters() == 0) std::this_thread::yield();
  append("\"b\"}\n");
  while (waiting.wait_for(0s) != std::future_status::ready) clock_.advance_to_next();
  EXPECT_EQ(std::get<Arrived>(waiting.get()).event.node_name, "b");
}

TEST_F(LinesTest, AFollowedFileThatIsCutOrDeletedIsAnError) {
  const auto after = [this](const std::function<void()>& change) {
    append(event("a") + "\n" + event("b") + "\n");
    const auto source = open(true);
    EXPECT_EQ(std::get<Arrived>(source->next({}).value()).event.node_name, "a");
    EXPECT_EQ(std::get<Arrived>(source->next({}).value()).event.node_name, "b");
    change();
    const auto next = source->next({});
    std::filesystem::remove(path("events"));
    return next ? "goes on" : next.error().message;
  };
  EXPECT_EQ(after([&] { std::filesystem::resize_file(path("events"), 3); }),
            path("events") + ": was cut short while it was followed");
  EXPECT_EQ(after([&] { std::filesystem::remove(path("events")); }),
            path("events") + ": was deleted or replaced while it was followed");
  EXPECT_EQ(after([&] {
              std::ofstream(path("new")) << event("c") << "\n";
              std::filesystem::rename(path("new"), path("events"));
            }),
            path("events") + ": was deleted or replaced while it was followed");
}

TEST_F(LinesTest, TheEventsAreNeverOverwrittenByOutcomes) {
  append(event("a") + "\n");
  std::filesystem::create_hard_link(path("events"), path("hard"));
  std::filesystem::create_symlink(path("events"), path("soft"));
  for (const char* name : {"events", "hard", "soft"}) {
    const auto source = LinesSource::open({.path = path("events")}, path(name), clock_);
    ASSERT_FALSE(source) << name;
    EXPECT_THAT(source.error().message, HasSubstr("is the file that the events are read from"));
  }
  EXPECT_EQ(read_file(path("events")).value(), event("a") + "\n");
  EXPECT_TRUE(LinesSource::open({.path = "/dev/null"}, "/dev/null", clock_)) << "a device is no file to lose";
}

TEST_F(LinesTest, OutcomesThatCannotBeWrittenAreKnownToBeLost) {
  append(event("a") + "\n");
  const auto source = LinesSource::open({.path = path("events")}, "/dev/full", clock_).value();
  EXPECT_FALSE(source->lost_outcomes());
  source->settle(std::get<Arrived>(source->next({}).value()), {.decision = "ignore"});
  EXPECT_TRUE(source->lost_outcomes());
}

TEST_F(LinesTest, APipeThatNobodyReadsIsRefusedForOutcomes) {
  append("");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(LinesSource::open({.path = path("events")}, path("pipe"), clock_).error().message,
              HasSubstr("nobody reads this pipe"));
}

TEST_F(LinesTest, ALineWithoutAnyEventIsReported) {
  const auto source = open_with("{\"version\":1,\"events\":[]}\n");
  EXPECT_THAT(all(*source), ElementsAre("1 events: is empty; there is no event in this line"));
}

TEST_F(LinesTest, AStopEndsTheWait) {
  append("");
  const auto source = open(true);
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] { return source->next(stop.get_token()).value(); });
  while (clock_.waiters() == 0) std::this_thread::yield();
  stop.request_stop();
  EXPECT_TRUE(std::holds_alternative<End>(waiting.get()));
}

TEST_F(LinesTest, APipeEndsWhenItsWriterCloses) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  LineReader reader(Descriptor{ends[0]}, false, clock_);
  Line line;
  auto waiting = std::async(std::launch::async, [&] { return reader.next(line, {}).value(); });
  ASSERT_EQ(write(ends[1], "one\ntwo", 7), 7);
  EXPECT_EQ(waiting.get(), LineReader::Got::kLine);
  EXPECT_EQ(line.text, "one");
  close(ends[1]);
  EXPECT_EQ(reader.next(line, {}).value(), LineReader::Got::kLine);
  EXPECT_EQ(line.text, "two");
  EXPECT_EQ(line.number, 2U);
  EXPECT_EQ(reader.next(line, {}).value(), LineReader::Got::kEnd);
}

TEST_F(LinesTest, AFileThatCannotBeOpenedIsNamed) {
  EXPECT_THAT(LinesSource::open({.path = path("none")}, "", clock_).error().message,
              HasSubstr("none: cannot be read: No such file"));
  EXPECT_THAT(LinesSource::open({.path = path("")}, "", clock_).error().message, HasSubstr("is a folder, not a file"));
  append("");
  EXPECT_THAT(LinesSource::open({.path = path("events")}, path("none/outcomes"), clock_).error().message,
              HasSubstr("--outcomes: " + path("none/outcomes") + ": cannot be written: No such file"));
}

TEST(ParseSource, KnowsItsForms) {
  EXPECT_EQ(parse_source("file:/a/b").value().path, "/a/b");
  EXPECT_EQ(parse_source("file:-").value().path, "-");
  const Options followed = parse_source("file:b?follow").value();
  EXPECT_EQ(followed.path, "b");
  EXPECT_TRUE(followed.follow);
  EXPECT_THAT(parse_source("file:").error().message, HasSubstr("no path"));
  EXPECT_THAT(parse_source("kafka").error().message, HasSubstr("must be file:PATH, file:PATH?follow or file:-"));
}

}  // namespace
}  // namespace nodeward::events::lines

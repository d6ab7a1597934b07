#include "quarantine/tracking.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>

namespace nodeward::quarantine {
namespace {

using events::Entity;
using events::HealthEvent;

// "G0 G1/79 48" : entities of type GPU, then codes; an empty part is an absent list.
HealthEvent event(std::string_view keys, int action = 2) {
  HealthEvent made;
  made.version = 1;
  made.agent = "gpu-health-monitor";
  made.component_class = "GPU";
  made.check_name = "GpuXidError";
  made.node_name = "n1";
  made.recommended_action = action;
  const auto slash = keys.find('/');
  const auto words = [](std::string_view text, const auto& each) {
    while (!text.empty()) {
      const auto space = text.find(' ');
      each(std::string(text.substr(0, space)));
      text = space == std::string_view::npos ? "" : text.substr(space + 1);
    }
  };
  words(keys.substr(0, slash), [&](std::string word) {
    if (!made.entities) made.entities.emplace();
    made.entities->push_back({"GPU", std::move(word)});
  });
  words(slash == std::string_view::npos ? "" : keys.substr(slash + 1), [&](std::string word) {
    if (!made.error_codes) made.error_codes.emplace();
    made.error_codes->push_back(std::move(word));
  });
  return made;
}

std::string text_of(const Tracked& tracked) {
  std::string text;
  for (const HealthEvent& each : tracked) {
    std::vector<std::string> entities;
    for (const Entity& entity : each.entities.value_or(std::vector<Entity>())) entities.push_back(entity.value);
    text += fmt::format("{}{}/{}", text.empty() ? "" : ", ", fmt::join(entities, " "),
                        fmt::join(each.error_codes.value_or(std::vector<std::string>()), " "));
  }
  return text;
}

struct ClearCase {
  std::string_view stored;
  std::string_view recovery;
  bool concerned;
  std::string_view left;
};
constexpr ClearCase kClearCases[] = {
    {"G0/79", "G0/", true, ""},                              // no code: any code
    {"G0/79", "/", true, ""},                                // no entity: the whole check
    {"/", "/", true, ""},
    {"/", "G0/", false, "/"},                                // a failure of the whole check is no failure of one entity
    {"G0/", "/79", true, "G0/"},                             // a failure without code is not cleared by one code
    {"G0/79", "/48", true, "G0/79"},                         // about this check, but nothing cleared
    {"G0/79", "G0/48", false, "G0/79"},
    {"G0/79", "G1/", false, "G0/79"},
    {"G0/79 48", "G0/48", true, "G0/79"},
    {"G0 G1/79", "G0/", true, "G1/79"},
    {"G0 G1/79 48", "G0/48", true, "G1/79 48, G0/79"},       // what is left is no cross product: two copies
    {"G0 G1/79 48", "/48", true, "G0 G1/79"},
    {"G0 G1/79 48", "G0 G1/79 48", true, ""},
    {"/79 48", "/79", true, "/48"},
};

TEST(Tracking, ARecoveryClearsExactlyItsKeys) {
  for (const ClearCase& row : kClearCases) {
    SCOPED_TRACE(fmt::format("{} by {}", row.stored, row.recovery));
    Tracked tracked{event(row.stored)};
    EXPECT_EQ(concerns(tracked, event(row.recovery)), row.concerned);
    clear(tracked, event(row.recovery));
    EXPECT_EQ(text_of(tracked), row.left);
  }
}

TEST(Tracking, AbsentListsStayAbsentInTrimmedCopies) {
  Tracked tracked{event("/79 48")};
  clear(tracked, event("/48"));
  EXPECT_FALSE(tracked[0].entities);
  tracked = {event("G0 G1/")};
  clear(tracked, event("G0/"));
  EXPECT_FALSE(tracked[0].error_codes);
}

TEST(Tracking, TheSameKeyIsTheSameFailureWhateverItsText) {
  Tracked tracked{event("G0/79")};
  HealthEvent again = event("G0/79");
  again.message = "another text";
  again.is_fatal = true;
  again.id = "another row";
  EXPECT_FALSE(add(tracked, again));
  EXPECT_EQ(tracked, Tracked{event("G0/79")});
}

TEST(Tracking, ASecondFailureIsAddedAtTheEnd) {
  Tracked tracked{event("G1/79")};
  EXPECT_TRUE(add(tracked, event("G0/79")));
  EXPECT_EQ(text_of(tracked), "G1/79, G0/79");
}

TEST(Tracking, AnotherRecommendedActionReplacesTheStoredEvent) {
  Tracked tracked{event("G0/79"), event("G1/79")};
  HealthEvent harder = event("G0/79", 24);
  EXPECT_TRUE(add(tracked, harder));
  EXPECT_EQ(text_of(tracked), "G1/79, G0/79");
  EXPECT_EQ(tracked[1], harder);
  EXPECT_FALSE(add(tracked, harder));
}

TEST(Tracking, AReplacedPartIsCutOutOfItsEvent) {
  Tracked tracked{event("G0 G1/79")};
  EXPECT_TRUE(add(tracked, event("G1/79", 24)));
  EXPECT_EQ(text_of(tracked), "G0/79, G1/79");
}

TEST(Tracking, AnEventWithOneNewKeyIsKeptWhole) {
  Tracked tracked{event("G0 G1/79")};
  EXPECT_TRUE(add(tracked, event("G1 G2/79")));
  EXPECT_EQ(text_of(tracked), "G0 G1/79, G1 G2/79");
  clear(tracked, event("G1/"));
  EXPECT_EQ(text_of(tracked), "G0/79, G2/79");
}

// By way of all pairs this took hours, in a worker that no stop could end; a line of 1 MiB may hold such an event.
TEST(Tracking, ManyEntitiesWithManyCodesAreNotCountedPairByPair) {
  std::string keys;
  for (int i = 0; i < 5'000; ++i) keys += fmt::format("G{} ", i);
  std::string codes = keys;
  const HealthEvent failure = event(keys + "/" + codes);
  Tracked tracked;
  EXPECT_TRUE(add(tracked, failure));
  EXPECT_FALSE(add(tracked, failure));
  EXPECT_TRUE(add(tracked, event("X " + keys + "/" + codes))) << "one entity more";
  EXPECT_FALSE(add(tracked, event("X G7/G9")));
  EXPECT_TRUE(concerns(tracked, event(keys + "/")));
  clear(tracked, event(keys + "/"));
  EXPECT_EQ(tracked.size(), 1U);
  EXPECT_EQ(tracked[0].entities->size(), 1U);
}

TEST(Tracking, WhatSeveralEventsCoverTogetherIsKnown) {
  Tracked tracked;
  add(tracked, event("G0 G1/79"));
  add(tracked, event("G0/48"));
  EXPECT_FALSE(add(tracked, event("G0/48 79")));
  EXPECT_FALSE(add(tracked, event("G0 G1/79")));
  EXPECT_TRUE(add(tracked, event("G0 G1/48 79"))) << "G1/48 is new";
}

TEST(Tracking, ADifferenceInAnyPartOfTheCheckIsAnotherCheck) {
  const auto differs = [](auto change) {
    HealthEvent recovery = event("/");
    change(recovery);
    return !concerns({event("G0/79")}, recovery);
  };
  EXPECT_TRUE(differs([](HealthEvent& e) { e.agent = "other"; }));
  EXPECT_TRUE(differs([](HealthEvent& e) { e.component_class = "NIC"; }));
  EXPECT_TRUE(differs([](HealthEvent& e) { e.check_name = "GpuMemWatch"; }));
  EXPECT_TRUE(differs([](HealthEvent& e) { e.node_name = "n2"; }));
  EXPECT_TRUE(differs([](HealthEvent& e) { e.version = 2; }));
  EXPECT_FALSE(differs([](HealthEvent& e) { e.is_fatal = true; }));
}

}  // namespace
}  // namespace nodeward::quarantine

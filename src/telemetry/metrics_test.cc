#include "telemetry/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <thread>

namespace nodeward::telemetry {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The exposition without the process_* families.
std::string own_text(const Metrics& metrics) {
  const std::string text = metrics.text();
  return text.substr(0, text.find("# HELP process_"));
}

TEST(Metrics, AnUnlabelledMetricIsThereFromItsDeclaration) {
  Metrics metrics;
  metrics.counter("a_total", "Counts a.");
  metrics.gauge("b", "Level of b.");
  metrics.histogram("c_seconds", "Time of c.", {0.005, 0.25, 1, 10});
  EXPECT_EQ(own_text(metrics),
            "# HELP a_total Counts a.\n# TYPE a_total counter\na_total 0\n"
            "# HELP b Level of b.\n# TYPE b gauge\nb 0\n"
            "# HELP c_seconds Time of c.\n# TYPE c_seconds histogram\n"
            "c_seconds_count 0\nc_seconds_sum 0\n"
            "c_seconds_bucket{le=\"0.005\"} 0\nc_seconds_bucket{le=\"0.25\"} 0\nc_seconds_bucket{le=\"1\"} 0\n"
            "c_seconds_bucket{le=\"10\"} 0\nc_seconds_bucket{le=\"+Inf\"} 0\n");
}

TEST(Metrics, ALabelledSeriesAppearsWithItsFirstValue) {
  Metrics metrics;
  Counter& events = metrics.counter("events_total", "Events.", {"status"});
  EXPECT_EQ(own_text(metrics), "");
  EXPECT_EQ(events.value({{"status", "failed"}}), 0);                    // looking makes no series
  EXPECT_EQ(own_text(metrics), "");
  events.add(1, {{"status", "success"}});
  events.add(2, {{"status", "failed"}});
  events.add(1, {{"status", "success"}});
  EXPECT_EQ(events.value({{"status", "success"}}), 2);
  EXPECT_EQ(own_text(metrics),
            "# HELP events_total Events.\n# TYPE events_total counter\n"
            "events_total{status=\"failed\"} 2\nevents_total{status=\"success\"} 2\n");
}

TEST(Metrics, ARemovedSeriesIsGoneAndWithTheLastOneTheFamily) {
  Metrics metrics;
  Gauge& count = metrics.gauge("count", "Count.", {"class", "node"});
  count.set(8, {{"node", "n1"}, {"class", "gpu"}});
  count.set(4, {{"node", "n2"}, {"class", "gpu"}});
  EXPECT_THAT(own_text(metrics), HasSubstr("count{class=\"gpu\",node=\"n1\"} 8\n"));
  count.remove({{"node", "n1"}, {"class", "gpu"}});
  count.remove({{"node", "never"}, {"class", "gpu"}});
  EXPECT_THAT(own_text(metrics), AllOf(Not(HasSubstr("n1")), HasSubstr("n2")));
  count.remove({{"node", "n2"}, {"class", "gpu"}});
  EXPECT_EQ(own_text(metrics), "");
}

TEST(Metrics, WritesNumbersAsReadersExpectThem) {
  Metrics metrics;
  Gauge& gauge = metrics.gauge("g", "G.", {"x"});
  const auto written = [&](double value) {
    gauge.set(value, {{"x", "y"}});
    const std::string text = own_text(metrics);
    const auto at = text.find("} ") + 2;
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(written(5), "5");
  EXPECT_EQ(written(-3), "-3");
  EXPECT_EQ(written(0.25), "0.25");
  EXPECT_EQ(written(0.1), "0.1");
  EXPECT_EQ(written(100000), "100000");
  EXPECT_EQ(written(12345678), "12345678");
  EXPECT_EQ(written(9223372036854775807.0), "9.223372036854776e+18");
}

TEST(Metrics, CountsObservationsByBucket) {
  Metrics metrics;
  Histogram& seconds = metrics.histogram("a", "A.", {0.1, 1}, {"verb"});
  EXPECT_EQ(own_text(metrics), "");
  for (const double value : {0.05, 0.1, 0.5, 7.0}) seconds.observe(value, {{"verb", "PATCH"}});
  EXPECT_THAT(own_text(metrics),
              AllOf(HasSubstr("a_bucket{verb=\"PATCH\",le=\"0.1\"} 2\n"), HasSubstr("a_bucket{verb=\"PATCH\",le=\"1\"} 3\n"),
                    HasSubstr("a_bucket{verb=\"PATCH\",le=\"+Inf\"} 4\n"), HasSubstr("a_count{verb=\"PATCH\"} 4\n")));
}

TEST(Metrics, DeclaredTwiceIsTheSameMetric) {
  Metrics metrics;
  metrics.counter("a_total", "A.").add();
  metrics.counter("a_total", "A.").add();
  EXPECT_EQ(metrics.counter("a_total", "A.").value(), 2);
}

TEST(Metrics, EscapesLabelValues) {
  Metrics metrics;
  metrics.gauge("g", "G.", {"x"}).set(1, {{"x", "a\"b\\c\nd"}});
  EXPECT_THAT(own_text(metrics), HasSubstr("g{x=\"a\\\"b\\\\c\\nd\"} 1\n"));
}

TEST(Metrics, ManyThreadsLoseNoCount) {
  Metrics metrics;
  Counter& counter = metrics.counter("a_total", "A.", {"x"});
  Gauge& gauge = metrics.gauge("g", "G.", {"x"});
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 500; ++n) {
          counter.add(1, {{"x", "y"}});
          gauge.set(n, {{"x", "y"}});
          gauge.remove({{"x", "y"}});
          if (n % 100 == 0) metrics.text();
        }
      });
    }
  }
  EXPECT_EQ(counter.value({{"x", "y"}}), 2000);
}

TEST(Metrics, ShowsTheProcessItself) {
  const std::string text = Metrics().text();
  const auto value = [&](const std::string& name) {
    const auto at = text.find("\n" + name + " ");
    return at == text.npos ? -1.0 : std::stod(text.substr(at + name.size() + 2));
  };
  EXPECT_THAT(text, testing::StartsWith("# HELP process_cpu_seconds_total "));
  EXPECT_THAT(text, HasSubstr("# TYPE process_cpu_seconds_total counter\n"));
  EXPECT_GE(value("process_cpu_seconds_total"), 0);
  EXPECT_GT(value("process_resident_memory_bytes"), 1e6);
  EXPECT_GT(value("process_virtual_memory_bytes"), value("process_resident_memory_bytes"));
  EXPECT_GE(value("process_open_fds"), 3);
  EXPECT_GE(value("process_max_fds"), value("process_open_fds"));
  EXPECT_NEAR(value("process_start_time_seconds"), static_cast<double>(time(nullptr)), 60);
}

}  // namespace
}  // namespace nodeward::telemetry

// Counters, gauges and histograms in Prometheus' text form. Any thread. prometheus-cpp stays behind this header.
// A labelled series, its HELP and its TYPE appear with its first value; an unlabelled one is there from its declaration.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nodeward::telemetry {

using MetricLabels = std::map<std::string, std::string>;

class Counter {
 public:
  virtual ~Counter() = default;
  virtual void add(double by = 1.0, const MetricLabels& labels = {}) = 0;
  virtual double value(const MetricLabels& labels = {}) const = 0;    // 0 for a series not there yet; for tests and /readyz
};

class Gauge {
 public:
  virtual ~Gauge() = default;
  virtual void set(double value, const MetricLabels& labels = {}) = 0;
  virtual double value(const MetricLabels& labels = {}) const = 0;
  virtual void remove(const MetricLabels& labels) = 0;
};

class Histogram {
 public:
  virtual ~Histogram() = default;
  virtual void observe(double value, const MetricLabels& labels = {}) = 0;
};

class Metrics {
 public:
  Metrics();
  ~Metrics();

  // `labelled`: series appear with their first value. Declaring a name twice gives the same metric. References live as long
  // as this object.
  Counter& counter(const std::string& name, const std::string& help, const std::vector<std::string>& label_names = {});
  Gauge& gauge(const std::string& name, const std::string& help, const std::vector<std::string>& label_names = {});
  Histogram& histogram(const std::string& name, const std::string& help, const std::vector<double>& buckets,
                       const std::vector<std::string>& label_names = {});

  // The exposition text, with the standard process_* metrics read at this moment.
  std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nodeward::telemetry

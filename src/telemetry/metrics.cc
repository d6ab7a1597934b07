#include "telemetry/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <sstream>
#include <utility>

#include "base/check.h"
#include "base/guarded.h"
#include "telemetry/process.h"

namespace nodeward::telemetry {
namespace {

// One family. Its lock is held while a series is used, so that remove() cannot pull it away under somebody's feet.
template <class Interface, class Raw, class... Args>
class Series : public Interface {
 public:
  Series(prometheus::Family<Raw>& family, const std::vector<std::string>& label_names, Args... args)
      : family_(family), names_(label_names.begin(), label_names.end()), args_(std::move(args)...) {
    if (names_.empty()) use({}, [](Raw&) {});
  }

 protected:
  template <class F>
  void use(const MetricLabels& labels, F&& f) {
    NW_CHECK(fits(labels), "a series has the labels that its metric was declared with");
    const std::lock_guard lock(mutex_);
    f(std::apply([&](const Args&... args) -> Raw& { return family_.Add(labels, args...); }, args_));
  }
  template <class F>
  double read(const MetricLabels& labels, F&& f) const {
    const std::lock_guard lock(mutex_);
    return family_.Has(labels) ? f(family_.Add(labels)) : 0.0;
  }
  void take_away(const MetricLabels& labels) {
    const std::lock_guard lock(mutex_);
    if (family_.Has(labels)) family_.Remove(&family_.Add(labels));
  }

 private:
  bool fits(const MetricLabels& labels) const {
    return std::equal(labels.begin(), labels.end(), names_.begin(), names_.end(),
                      [](const auto& label, const std::string& name) { return label.first == name; });
  }

  prometheus::Family<Raw>& family_;
  const std::set<std::string> names_;
  const std::tuple<Args...> args_;
  mutable std::mutex mutex_;
};

class CounterSeries final : public Series<Counter, prometheus::Counter> {
 public:
  using Series::Series;
  void add(double by, const MetricLabels& labels) override {
    use(labels, [&](prometheus::Counter& raw) { raw.Increment(by); });
  }
  double value(const MetricLabels& labels) const override {
    return read(labels, [](prometheus::Counter& raw) { return raw.Value(); });
  }
};

class GaugeSeries final : public Series<Gauge, prometheus::Gauge> {
 public:
  using Series::Series;
  void set(double value, const MetricLabels& labels) override {
    use(labels, [&](prometheus::Gauge& raw) { raw.Set(value); });
  }
  double value(const MetricLabels& labels) const override {
    return read(labels, [](prometheus::Gauge& raw) { return raw.Value(); });
  }
  void remove(const MetricLabels& labels) override { take_away(labels); }
};

class HistogramSeries final : public Series<Histogram, prometheus::Histogram, std::vector<double>> {
 public:
  using Series::Series;
  void observe(double value, const MetricLabels& labels) override {
    use(labels, [&](prometheus::Histogram& raw) { raw.Observe(value); });
  }
};

prometheus::MetricFamily family_of(const ProcessMetric& metric) {
  prometheus::ClientMetric value;
  value.counter.value = metric.value;
  value.gauge.value = metric.value;
  return {metric.name, metric.help, metric.counter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge, {value}};
}

// Families by name and series by labels, as the Go client writes them, so that two scrapes can be compared.
void put_in_order(std::vector<prometheus::MetricFamily>& families) {
  std::erase_if(families, [](const auto& family) { return family.metric.empty(); });
  std::sort(families.begin(), families.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (auto& family : families) {
    std::sort(family.metric.begin(), family.metric.end(), [](const auto& a, const auto& b) { return a.label < b.label; });
  }
}

}  // namespace

struct Metrics::Impl {
  // Gives the metric of this name, made by `make` when it is new.
  template <class Interface, class Make>
  Interface& find_or_make(std::map<std::string, std::unique_ptr<Interface>> Impl::*kind, const std::string& name, Make make) {
    const std::lock_guard lock(mutex);
    std::unique_ptr<Interface>& place = (this->*kind)[name];
    if (!place) place = make();
    return *place;
  }

  std::mutex mutex;
  prometheus::Registry registry;
  std::map<std::string, std::unique_ptr<Counter>> counters;
  std::map<std::string, std::unique_ptr<Gauge>> gauges;
  std::map<std::string, std::unique_ptr<Histogram>> histograms;
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

Counter& Metrics::counter(const std::string& name, const std::string& help, const std::vector<std::string>& label_names) {
  return impl_->find_or_make(&Impl::counters, name, [&] {
    auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(impl_->registry);
    return std::make_unique<CounterSeries>(family, label_names);
  });
}

Gauge& Metrics::gauge(const std::string& name, const std::string& help, const std::vector<std::string>& label_names) {
  return impl_->find_or_make(&Impl::gauges, name, [&] {
    auto& family = prometheus::BuildGauge().Name(name).Help(help).Register(impl_->registry);
    return std::make_unique<GaugeSeries>(family, label_names);
  });
}

Histogram& Metrics::histogram(const std::string& name, const std::string& help, const std::vector<double>& buckets,
                              const std::vector<std::string>& label_names) {
  return impl_->find_or_make(&Impl::histograms, name, [&] {
    auto& family = prometheus::BuildHistogram().Name(name).Help(help).Register(impl_->registry);
    return std::make_unique<HistogramSeries>(family, label_names, buckets);
  });
}

std::string Metrics::text() const {
  auto families = impl_->registry.Collect();
  for (const ProcessMetric& metric : process_metrics()) families.push_back(family_of(metric));
  put_in_order(families);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace nodeward::telemetry

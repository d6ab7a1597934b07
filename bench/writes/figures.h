// Repeated measurements as one figure for the table. Pure.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace nodeward::bench {

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// "0.97 (0.95 0.97 1.01)"
inline std::string with_all(const std::vector<double>& values, int digits) {
  std::string all;
  for (const double value : values) all += fmt::format("{}{:.{}f}", all.empty() ? "" : " ", value, digits);
  return fmt::format("{:.{}f} ({})", median(values), digits, all);
}

}  // namespace nodeward::bench

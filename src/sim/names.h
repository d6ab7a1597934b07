// What names, label keys and label values may look like, and the words in which a kube-apiserver says what is wrong. Pure.
// Each check gives one sentence per breach; none: it is right.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nodeward::sim {

using Wrongs = std::vector<std::string>;

Wrongs check_subdomain(std::string_view text);        // RFC 1123: names of most objects
Wrongs check_dns_label(std::string_view text);        // names of namespaces
Wrongs check_qualified_name(std::string_view text);   // keys of labels and taints: "example.com/name"
Wrongs check_label_value(std::string_view text);

}  // namespace nodeward::sim

// Is a text what Kubernetes takes it for? Pure. Private to this folder.
#pragma once

#include <string_view>

namespace nodeward::config {

bool is_label_key(std::string_view key);       // [dns.prefix/]name, for taints too
bool is_label_value(std::string_view value);   // for taints too; may be empty
bool is_taint_effect(std::string_view effect);

}  // namespace nodeward::config

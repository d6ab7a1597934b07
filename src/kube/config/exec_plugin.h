// One run of a credential plugin. Any thread; takes as long as the plugin. Private to kube/config.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kube/config/child_output.h"
#include "kube/config/cluster_config.h"
#include "kube/config/exec_credential.h"

namespace nodeward::kube {

// The message names the plugin and shows of what it printed nothing but the first line of standard error, without secrets.
Result<ExecCredential> run_plugin(const ExecPlugin& plugin, const ChildLimits& limits, const std::stop_token& stop);

// The first line of `text`, shortened, with *** for the `secrets` and for what looks like one: a value after "token=",
// "password:" and the like, user and password of a URL, and long words of letters and digits.
std::string without_secrets(std::string_view text, const std::vector<std::string>& secrets);

}  // namespace nodeward::kube

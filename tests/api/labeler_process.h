// The labeler as a child process.
#pragma once

#include "api/controller_process.h"

namespace nodeward::api {

class LabelerProcess : public ControllerProcess {
 public:
  LabelerProcess(const std::filesystem::path& folder, const std::vector<std::string>& flags,
                 const std::vector<std::string>& environment = {})
      : ControllerProcess("labeler", folder, flags, environment) {}

  void await_ready() {                               // /readyz says 200, and the first sweep is through
    ControllerProcess::await_ready();
    await("the first sweep through", [&] { return metric("labeler_sweep_duration_seconds") > 0; });
  }
};

}  // namespace nodeward::api

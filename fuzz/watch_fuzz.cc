// Any bytes as a watch stream and as a list in JSON, cut anywhere.
#include "stream_cuts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nodeward::kube::check_cuts(data, size, nodeward::kube::Encoding::kJson);
  return 0;
}

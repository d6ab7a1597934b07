// The decoders of decode.h for protobuf, and what of a Status is asked for. Field numbers are those of generated.proto in
// k8s.io/apimachinery (ObjectMeta, ListMeta, Status, WatchEvent, Unknown) and k8s.io/api (Pod); they never change their meaning.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "kube/decode.h"

namespace nodeward::kube {

inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

std::unique_ptr<Decoder<Node>> make_protobuf_node_decoder(NodeSelection selection);
std::unique_ptr<Decoder<Pod>> make_protobuf_pod_decoder();

std::optional<Status> decode_protobuf_status(std::string_view body);     // nullopt: it is none

}  // namespace nodeward::kube

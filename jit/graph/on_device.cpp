#include "jit/graph/on_device.h"

namespace kiln::jit {

Graph on_device(Graph graph, Device device) {
  for (Value& each : graph.values) {
    if (!each.type.is_number) each.type.device = device;
  }
  for (Node& node : graph.nodes) {
    for (Attr& each : node.attrs)
      if (std::holds_alternative<Device>(each)) each = device;
  }
  return graph;
}

}  // namespace kiln::jit

// The fake driver: captures and graphs.
#include <algorithm>
#include <utility>

#include "tests/cuda/fake/capture.h"
#include "tests/cuda/fake/entries.h"
#include "tests/cuda/fake/live_handles.h"
#include "tests/cuda/fake/state.h"

namespace kiln::cuda {
namespace {

using namespace kiln::fake;

// What the kernels of libraries are said to be: no module has it.
FunctionData kernel_of_a_library;

template <class T, class Body>
Result use(std::string_view entry, T* handle, const Body& body) {
  return enter(entry, Needs::Context, [&] { return live<T>().has(handle) ? body() : kInvalidValue; });
}

// The place of a node in its graph; as many as there are for one that is in none of this graph's.
std::size_t place_of(GraphNodeHandle node, const GraphData& graph) {
  const auto found = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                  [&](const auto& each) { return each.get() == node; });
  return static_cast<std::size_t>(found - graph.nodes.begin());
}

bool is_node(GraphNodeHandle node) {
  bool is_found = false;
  live<GraphData>().each(
      [&](const GraphData& graph) { is_found = is_found || place_of(node, graph) < graph.nodes.size(); });
  return is_found;
}

Result read_parameters(const GraphNodeData& node, KernelNode& parameters) {
  parameters = KernelNode{};
  if (node.parameters == nullptr) {
    parameters.function = &kernel_of_a_library;
    parameters.grid_x = parameters.grid_y = parameters.grid_z = 1;
    parameters.block_x = parameters.block_y = parameters.block_z = 1;
    return kSuccess;
  }
  const Launch& launch = node.launch;
  parameters.function = launch.function;
  parameters.grid_x = launch.grid.x;
  parameters.grid_y = launch.grid.y;
  parameters.grid_z = launch.grid.z;
  parameters.block_x = launch.block.x;
  parameters.block_y = launch.block.y;
  parameters.block_z = launch.block.z;
  parameters.shared = launch.shared;
  parameters.parameters = const_cast<void**>(node.parameters->pointers());
  return kSuccess;
}

// A node like this one of the graph for the same work with other parameters.
Result change(GraphExecData& exec, GraphNodeHandle node, const KernelNode& parameters) {
  if (!live<GraphData>().has(exec.graph)) return kInvalidValue;
  const std::size_t place = place_of(node, *exec.graph);
  if (place == exec.nodes.size() || node->type != kNodeKernel) return kInvalidValue;
  const std::shared_ptr<ModuleData> module = module_of(parameters.function);
  if (module == nullptr) return kInvalidHandle;
  if (parameters.extra != nullptr) return kNotSupported;
  const Launch launch{parameters.function,
                      {parameters.grid_x, parameters.grid_y, parameters.grid_z},
                      {parameters.block_x, parameters.block_y, parameters.block_z},
                      parameters.shared};
  if (const Result refused = check(launch, parameters.parameters); refused != kSuccess) return refused;
  exec.nodes[place] = std::make_shared<GraphNodeData>(kernel_node(launch, module, parameters.parameters));
  return kSuccess;
}

std::vector<std::shared_ptr<const GraphNodeData>> copies_of(const GraphData& graph) {
  std::vector<std::shared_ptr<const GraphNodeData>> nodes;
  for (const auto& node : graph.nodes) nodes.push_back(std::make_shared<GraphNodeData>(*node));
  return nodes;
}

// Whether the graph has the nodes of the other one in the same order, of the same types.
int compare(const GraphExecData& exec, const GraphData& graph, GraphNodeHandle& node) {
  if (exec.nodes.size() != graph.nodes.size()) return kUpdateTopologyChanged;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNodeData &own = *exec.nodes[i], &other = *graph.nodes[i];
    node = graph.nodes[i].get();
    if (own.type != other.type) return kUpdateNodeTypeChanged;
    if (own.after.size() != other.after.size()) return kUpdateTopologyChanged;
  }
  node = nullptr;
  return kUpdateSuccess;
}

}  // namespace

extern "C" {

// ---- Captures --------------------------------------------------------------------------------------------

Result cuThreadExchangeStreamCaptureMode(int* mode) {
  return enter("cuThreadExchangeStreamCaptureMode", Needs::Initialized, [&] {
    if (mode == nullptr || *mode < kCaptureGlobal || *mode > kCaptureRelaxed) return kInvalidValue;
    std::swap(*mode, mode_of_thread());
    return kSuccess;
  });
}

Result cuStreamBeginCapture_v2(StreamHandle handle, int mode) {
  return enter_stream("cuStreamBeginCapture_v2", handle,
                      [&](StreamData& stream) { return begin_capture(stream, mode); });
}

Result cuStreamEndCapture(StreamHandle handle, GraphHandle* graph) {
  return enter_stream("cuStreamEndCapture", handle, [&](StreamData& stream) {
    const Result ended = end_capture(stream, graph);
    if (ended == kSuccess) live<GraphData>().add(*graph);
    return ended;
  });
}

// ---- Graphs and their nodes ------------------------------------------------------------------------------

Result cuGraphGetNodes(GraphHandle graph, GraphNodeHandle* nodes, std::size_t* count) {
  return use("cuGraphGetNodes", graph, [&] {
    if (count == nullptr) return kInvalidValue;
    const std::size_t all = graph->nodes.size();
    if (nodes != nullptr) {
      for (std::size_t i = 0; i < *count; ++i) nodes[i] = i < all ? graph->nodes[i].get() : nullptr;
    }
    *count = nodes == nullptr ? all : std::min(all, *count);
    return kSuccess;
  });
}

Result cuGraphNodeGetType(GraphNodeHandle node, int* type) {
  return enter("cuGraphNodeGetType", Needs::Context, [&] {
    if (!is_node(node) || type == nullptr) return kInvalidValue;
    *type = node->type;
    return kSuccess;
  });
}

Result cuGraphKernelNodeGetParams_v2(GraphNodeHandle node, KernelNode* parameters) {
  return enter("cuGraphKernelNodeGetParams_v2", Needs::Context, [&] {
    if (!is_node(node) || node->type != kNodeKernel || parameters == nullptr) return kInvalidValue;
    return read_parameters(*node, *parameters);
  });
}

Result cuGraphDestroy(GraphHandle graph) {
  return use("cuGraphDestroy", graph, [&] {
    live<GraphData>().remove(graph);
    return kSuccess;
  });
}

// ---- Graphs that can be launched -------------------------------------------------------------------------

Result cuGraphInstantiateWithFlags(GraphExecHandle* exec, GraphHandle graph, unsigned long long flags) {
  return use("cuGraphInstantiateWithFlags", graph, [&] {
    if (exec == nullptr || flags != 0) return kInvalidValue;
    *exec = live<GraphExecData>().add(new GraphExecData{graph, copies_of(*graph), nullptr});
    return kSuccess;
  });
}

Result cuGraphExecKernelNodeSetParams_v2(GraphExecHandle exec, GraphNodeHandle node,
                                         const KernelNode* parameters) {
  return use("cuGraphExecKernelNodeSetParams_v2", exec,
             [&] { return parameters == nullptr ? kInvalidValue : change(*exec, node, *parameters); });
}

Result cuGraphExecUpdate_v2(GraphExecHandle exec, GraphHandle graph, GraphUpdate* found) {
  return use("cuGraphExecUpdate_v2", exec, [&] {
    if (!live<GraphData>().has(graph) || found == nullptr) return kInvalidValue;
    *found = GraphUpdate{};
    found->result = compare(*exec, *graph, found->node);
    if (found->result != kUpdateSuccess) return kGraphUpdateFailure;
    exec->nodes = copies_of(*graph);
    return kSuccess;
  });
}

Result cuGraphUpload(GraphExecHandle exec, StreamHandle handle) {
  return enter_stream("cuGraphUpload", handle, [&](StreamData& stream) {
    return live<GraphExecData>().has(exec) ? refuse_captured(stream) : kInvalidValue;
  });
}

// It does the nodes as they are now, one after the other.
Result cuGraphLaunch(GraphExecHandle exec, StreamHandle handle) {
  return enter_stream("cuGraphLaunch", handle, [&](StreamData& stream) {
    if (!live<GraphExecData>().has(exec)) return kInvalidValue;
    if (const Result refused = refuse_captured(stream); refused != kSuccess) return refused;
    stream.queue->hold_until(exec->last);
    exec->last = give_now(stream, [nodes = exec->nodes]() -> Failure {
      for (const auto& node : nodes) {
        if (Failure failure = node->run(); failure.error != kSuccess) return failure;
      }
      return {};
    });
    return kSuccess;
  });
}

Result cuGraphExecDestroy(GraphExecHandle exec) {
  return use("cuGraphExecDestroy", exec, [&] {
    live<GraphExecData>().remove(exec);
    return kSuccess;
  });
}

}  // extern "C"
}  // namespace kiln::cuda

#include "tensor/cuda/work_graph.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tensor/error.h"

namespace kiln::cuda {
namespace {

bool is_same(const KernelWork& a, const KernelWork& b) {
  return a.function == b.function && a.threads == b.threads && a.shared_bytes == b.shared_bytes &&
         a.places == b.places;
}
bool has_same_arguments(const KernelWork& a, const KernelWork& b) {
  return a.blocks == b.blocks && a.arguments == b.arguments;
}
bool does_same(const OtherWork& a, const OtherWork& b) { return a.entry == b.entry && a.what == b.what; }

bool is_alike(const Work& a, const Work& b) {
  if (a.index() != b.index()) return false;
  if (const auto* const kernel = std::get_if<KernelWork>(&a))
    return is_same(*kernel, std::get<KernelWork>(b));
  return std::get<OtherWork>(a).entry == std::get<OtherWork>(b).entry;
}

// Does a node of a captured graph do this?
bool is_node_of(const KernelNode& node, const KernelWork& work) {
  if (node.function != work.function || node.parameters == nullptr) return false;
  for (std::size_t k = 0; k + 1 < work.places.size(); ++k) {
    const std::size_t end = k + 2 < work.places.size() ? work.places[k + 1] : work.arguments.size();
    if (std::memcmp(node.parameters[k], work.arguments.data() + work.places[k], end - work.places[k]) != 0)
      return false;
  }
  return true;
}

}  // namespace

bool are_alike(std::span<const Work> a, std::span<const Work> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), is_alike);
}

std::unique_ptr<WorkGraph> WorkGraph::make(Context& context, std::span<const Work> work) {
  std::unique_ptr<WorkGraph> made(new WorkGraph(context, work));
  if (made->capture() != kSuccess || !made->find_nodes()) return nullptr;
  return driver_api().cuGraphInstantiateWithFlags(&made->exec_, made->graph_, 0) == kSuccess ? std::move(made)
                                                                                             : nullptr;
}

// The driver keeps what is on its way until it is done: nothing waits here, be there much work ahead of it.
WorkGraph::~WorkGraph() {
  if (Context::made_for(context_.device()) == nullptr) return;
  if (exec_ != nullptr) context_.note(driver_api().cuGraphExecDestroy(exec_));
  if (graph_ != nullptr) context_.note(driver_api().cuGraphDestroy(graph_));
}

// What other threads ask of the driver meanwhile neither is captured nor ends the capture.
Result WorkGraph::capture() {
  const StreamHandle stream = context_.stream();
  const std::lock_guard lock(context_.capture_mutex());
  if (const Result begun = driver_api().cuStreamBeginCapture_v2(stream, kCaptureThreadLocal);
      begun != kSuccess)
    return begun;
  Result result = kSuccess;
  try {
    for (const Work& each : work_) {
      if (result == kSuccess) result = give_to(stream, each);
    }
  } catch (const OpError&) {
    result = kUnknownError;  // the library tells it again when the work is given without a graph
  }
  const Result ended = driver_api().cuStreamEndCapture(stream, &graph_);
  return result != kSuccess ? result : ended;
}

// Those of libraries are between them. They are looked for by what they do, since the driver does not promise
// an order.
bool WorkGraph::find_nodes() {
  std::size_t count = 0;
  if (driver_api().cuGraphGetNodes(graph_, nullptr, &count) != kSuccess) return false;
  std::vector<GraphNodeHandle> all(count);
  if (driver_api().cuGraphGetNodes(graph_, all.data(), &count) != kSuccess) return false;
  for (const Work& each : work_) {
    const auto* const work = std::get_if<KernelWork>(&each);
    if (work == nullptr) continue;
    const auto found = std::find_if(all.begin(), all.end(), [&](GraphNodeHandle node) {
      int type = -1;
      KernelNode parameters{};
      return node != nullptr && driver_api().cuGraphNodeGetType(node, &type) == kSuccess &&
             type == kNodeKernel &&
             driver_api().cuGraphKernelNodeGetParams_v2(node, &parameters) == kSuccess &&
             is_node_of(parameters, *work);
    });
    if (found == all.end()) return false;
    nodes_.push_back(std::exchange(*found, nullptr));
  }
  return true;
}

bool WorkGraph::fits(std::span<const Work> work) const {
  return std::equal(work_.begin(), work_.end(), work.begin(), work.end(), [](const Work& a, const Work& b) {
    const auto* const other = std::get_if<OtherWork>(&a);
    return is_alike(a, b) && (other == nullptr || does_same(*other, std::get<OtherWork>(b)));
  });
}

Result WorkGraph::change(GraphNodeHandle node, const KernelWork& work) {
  std::vector<void*> pointers = work.pointers();
  KernelNode parameters{};
  parameters.function = work.function;
  parameters.grid_x = work.blocks;
  parameters.grid_y = parameters.grid_z = parameters.block_y = parameters.block_z = 1;
  parameters.block_x = work.threads;
  parameters.shared = work.shared_bytes;
  parameters.parameters = pointers.data();
  return driver_api().cuGraphExecKernelNodeSetParams_v2(exec_, node, &parameters);
}

bool WorkGraph::launch(std::span<const Work> work) {
  std::size_t node = 0;
  for (std::size_t i = 0; i < work.size(); ++i) {
    const auto* const kernel = std::get_if<KernelWork>(&work[i]);
    if (kernel == nullptr) continue;
    const GraphNodeHandle here = nodes_[node++];
    if (has_same_arguments(*kernel, std::get<KernelWork>(work_[i]))) continue;
    if (change(here, *kernel) != kSuccess) return false;
    work_[i] = work[i];
  }
  context_.check("cuGraphLaunch", driver_api().cuGraphLaunch(exec_, context_.stream()));
  return true;
}

}  // namespace kiln::cuda

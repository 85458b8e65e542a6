#include "interpreter/capture/flow/place.h"

#include <algorithm>

#include "interpreter/capture/compiled.h"
#include "tensor/autograd.h"

namespace kiln::interp::capture {

namespace {

// Iterations that are unrolled within an entry rather than run by a flow: each adds nodes to the graph, or
// only numbers are computed, which costs an entry nothing.
constexpr std::int64_t kUnrolled = 64, kUnrolledNumbers = 1'000;

// So many iterations are unrolled at most.
std::int64_t most_unrolled(const LoopFlow& loop) {
  const bool has_tensor =
      std::any_of(loop.inputs.begin(), loop.inputs.end(),
                  [](const LoopFlow::Input& each) { return each.kind == LoopFlow::Input::Kind::Tensor; });
  return has_tensor ? kUnrolled : kUnrolledNumbers;
}

}  // namespace

bool FlowPlace::ends_entries() const {
  if (is_asked_for && given_up.empty()) return true;
  if (pending != nullptr && expected_trips > most_unrolled(pending->loop())) return true;
  return std::any_of(entries.begin(), entries.end(), [](const std::unique_ptr<FlowEntry>& each) {
    return each->trips > each->runs * most_unrolled(each->loop);
  });
}

bool FlowPlace::requires_gradients(const Frame& frame) const {
  if (entries.empty() && pending == nullptr) return false;
  const LoopFlow& loop = entries.empty() ? pending->loop() : entries.back()->loop;
  SourceValues found(loop.sources, &frame);
  return std::any_of(loop.inputs.begin(), loop.inputs.end(), [&](const LoopFlow::Input& each) {
    if (each.kind != LoopFlow::Input::Kind::Tensor) return false;
    const Value* const v = found[each.source];
    return v != nullptr && v->is(Tag::Tensor) && requires_grad(v->tensor());
  });
}

bool FlowPlace::records() const {
  return std::any_of(entries.begin(), entries.end(),
                     [](const std::unique_ptr<FlowEntry>& each) { return each->differentiated != nullptr; });
}

void FlowPlace::visit_references(ReferenceVisitor& visitor) const {
  interp::visit_references(entries, visitor);
  if (pending) pending->loop().visit_references(visitor);
  if (in_gradient) in_gradient->visit_references(visitor);
}

bool allows_flows(const CompileOptions& options) {
  return options.backend == "fused" && options.own_backend.is_none() && options.own_passes.empty() &&
         !options.fullgraph;
}

}  // namespace kiln::interp::capture

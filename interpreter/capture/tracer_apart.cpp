// Guards that objects which the entry changes stay apart: if two were one object, or shared memory, a change
// of one would be a change of the other.
#include <algorithm>

#include "interpreter/capture/tracer.h"

namespace kiln::interp::capture {
namespace {

// May a node write to a tensor from outside? Views of inputs are such tensors; results of composites may be.
bool writes_to_inputs(const jit::Graph& graph) {
  std::vector<bool> outside(graph.values.size());
  std::fill_n(outside.begin(), graph.inputs.size(), true);
  const auto is_outside = [&](const jit::Operand& x) {
    return x.is_value() && outside[static_cast<std::size_t>(x.value)];
  };
  for (const jit::Node& node : graph.nodes) {
    if (node.op == nullptr) continue;
    const bool reaches = std::any_of(node.operands.begin(), node.operands.end(), is_outside);
    if (node.writes() && reaches) return true;
    const bool may_be_view = node.is_view() || node.op->lowering == Lowering::Composite;
    for (const jit::ValueId each : node.outputs)
      outside[static_cast<std::size_t>(each)] = may_be_view && reaches;
  }
  return false;
}

bool changes_gradients(const Entry& entry) {
  return std::any_of(entry.effects.begin(), entry.effects.end(),
                     [](const HostEffect& each) { return each.kind == HostEffect::Kind::Grad; });
}

bool changes_in_place(const Value& v) {
  return v.is(Tag::List) || is_dict_or_set(v) || v.is(Tag::Cell) || v.is(Tag::Instance);
}

}  // namespace

// A write may change sizes, strides and histories that the program asked for, so the guard is on all tensors.
void Tracer::add_memory_guard(Entry& entry) {
  if (!entry.differentiated && !changes_gradients(entry) && !writes_to_inputs(entry.captured)) return;
  std::vector<SourceId> guarded;
  for (const Guard& each : entry.guards) {
    if (each.kind == Guard::Kind::Tensor) guarded.push_back(each.source);
  }
  std::sort(guarded.begin(), guarded.end());
  std::vector<std::pair<SourceId, const TensorImpl*>> tensors;
  for (const auto& [object, known] : known_) {
    if (!known.held.is(Tag::Tensor)) continue;
    if (sources_[known.source].kind == Source::Kind::Constant ||
        std::binary_search(guarded.begin(), guarded.end(), known.source))
      tensors.emplace_back(known.source, recorder_.as_met(known.held.tensor()).impl());
  }
  if (tensors.size() < 2) return;
  std::sort(tensors.begin(), tensors.end());
  Guard memory;
  memory.kind = Guard::Kind::SameMemory;
  std::vector<const TensorImpl*> now;
  for (const auto& [source, tensor] : tensors) {
    memory.members.push_back(source);
    now.push_back(tensor);
  }
  memory.groups = memory_groups(now);
  entry.guards.push_back(std::move(memory));
}

// Guards each kind of object of which one changes, and tensors where the program compared their identities.
void Tracer::add_apart_guards(Entry& entry) {
  std::vector<SourceId> guarded;
  for (const Guard& each : entry.guards) {
    if (each.kind == Guard::Kind::Tag || each.kind == Guard::Kind::Struct || each.kind == Guard::Kind::Tensor)
      guarded.push_back(each.source);
  }
  std::sort(guarded.begin(), guarded.end());
  std::vector<interp::Tag> changed;
  for (const auto& [object, change] : changes_) {
    if (changes_in_place(change.target)) changed.push_back(change.target.tag());
  }
  if (tells_tensors_apart_) changed.push_back(interp::Tag::Tensor);
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  for (const interp::Tag tag : changed) {
    Guard apart;
    apart.kind = Guard::Kind::Apart;
    for (const auto& [object, known] : known_) {
      if (!known.held.is(tag)) continue;
      if (sources_[known.source].kind == Source::Kind::Constant ||
          std::binary_search(guarded.begin(), guarded.end(), known.source))
        apart.members.push_back(known.source);
    }
    std::sort(apart.members.begin(), apart.members.end());
    if (apart.members.size() > 1) entry.guards.push_back(std::move(apart));
  }
}

}  // namespace kiln::interp::capture

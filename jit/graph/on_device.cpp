#include "jit/graph/on_device.h"

#include "jit/graph/custom.h"
#include "jit/graph/rewrite.h"
#include "jit/shape_rules.h"
#include "tensor/core_ops.h"

namespace kiln::jit {
namespace {

void move(Value& value, Device device) {
  if (!value.type.is_number) value.type.device = device;
}

// Of an op that says where its results are, or leaves it to the default.
void move_attrs(Node& node, Device device) {
  std::size_t attr = 0;
  for (const Parameter& each : node.op->signature.parameters) {
    if (each.kind == ArgKind::Device) node.attrs[attr] = device;
    if (each.kind > ArgKind::OptionalTensorList) ++attr;
  }
}

}  // namespace

Graph on_device(const Graph& graph, Device device) {
  Graph there = graph;
  for (Value& each : there.values) move(each, device);
  Rewriter rewriter(there);
  for (const Node& node : there.nodes) {
    Node moved = rewriter.mapped(node);
    std::vector<Type> types;
    for (const ValueId id : node.outputs) types.push_back(there.values[static_cast<std::size_t>(id)].type);
    if (node.is_constant()) {
      const ValueId here = rewriter.append(std::move(moved))[0];
      rewriter.map(node.outputs[0],
                   rewriter.apply(core_ops().transfer, {Operand::of(here)}, {device}, node)[0]);
      continue;
    }
    move_attrs(moved, device);
    // Some results are on the host wherever the operands are: the token of a collective. The interpreter
    // alone knows what its own functions give.
    if (moved.op != &interpreted_op()) {
      const Inferred inferred = infer_types(rewriter.graph, moved);
      for (std::size_t k = 0; k < types.size(); ++k) types[k].device = inferred.types[k].device;
    }
    const std::vector<ValueId> made = rewriter.append(std::move(moved), std::move(types));
    for (std::size_t k = 0; k < made.size(); ++k) rewriter.map(node.outputs[k], made[k]);
  }
  return rewriter.finish();
}

}  // namespace kiln::jit

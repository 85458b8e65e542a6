#include "jit/flow/flow_activity.h"
#include "jit/flow/flow_gradient.h"
#include "jit/flow/flow_writer.h"
#include "jit/graph/custom.h"
#include "tensor/core_ops.h"

namespace kiln::jit {
namespace {

bool is_expanded(const Node& node) {
  return !node.is_constant() && node.form != Form::Copy && node.op->view == nullptr &&
         !number_op_of(*node.op) && differentiates_by_body(*node.op);
}

// The steps of the body in place of one that is differentiated by it. One that writes computes apart first.
void expand(FlowWriter& writer, const FlowStep& step) {
  const Node& node = step.node;
  std::vector<TraceOperand> operands;
  for (const Operand& each : node.operands) operands.push_back(traced(writer.flow, each));
  const Attrs attrs = to_attrs(*node.op, node.attrs);
  const std::optional<Fragment> body = trace([&](Inputs given) { return run_body(*node.op, given, attrs); },
                                             operands, writer.flow.hints, differentiates_by_body);
  if (!body)
    throw OpError(ErrorKind::Capture, "the body of " + std::string(node.op->name()) + " reads elements");
  if (!body->guards.empty() && step.exit == kCannotFail)
    throw OpError(ErrorKind::Capture, "the body of " + std::string(node.op->name()) + " asks for sizes");
  FlowStep first = step;
  first.node.outputs.clear();
  if (!node.writes()) {
    writer.inline_fragment(*body, node.operands, first, node.outputs);
    return;
  }
  const std::vector<Operand> made = writer.inline_fragment(*body, node.operands, first);
  FlowStep write = step;
  write.node.op = &core_ops().copy;
  write.node.attrs.clear();
  write.node.operands = {node.operands[0], made[0]};
  write.guards.clear();
  writer.block().steps.push_back(std::move(write));
}

}  // namespace

FlowGraph expanded(const FlowGraph& flow, const std::vector<bool>& wanted) {
  const FlowActivity activity(flow, wanted);
  FlowWriter writer(flow);
  for (std::size_t b = 0; b < flow.blocks.size(); ++b) {
    writer.go_on_in(static_cast<BlockId>(b));
    writer.block().steps.clear();
    for (const FlowStep& each : flow.blocks[b].steps) {
      if (is_expanded(each.node) && activity.is_recorded(each.node)) {
        expand(writer, each);
      } else {
        writer.block().steps.push_back(each);
      }
    }
  }
  return std::move(writer.flow);
}

}  // namespace kiln::jit

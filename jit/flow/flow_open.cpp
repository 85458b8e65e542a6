#include "jit/flow/flow_open.h"

#include <algorithm>
#include <optional>

#include "jit/flow/flow_writer.h"
#include "jit/graph/custom.h"
#include "tensor/backend.h"
#include "tensor/fixed_order.h"

namespace kiln::jit {
namespace {

constexpr std::size_t kMostSteps = 3;

bool has_few_elements(const FlowGraph& flow, const Node& node) {
  return std::all_of(node.operands.begin(), node.operands.end(), [&flow](const Operand& each) {
    if (!each.is_value() || flow.type(each.value).is_number) return true;
    return count_elements(evaluate(flow.type(each.value), flow.hints).sizes) <= kReductionBlock;
  });
}

// Only ops whose errors are those of their rules: what an op says of elements its body would not say.
bool has_body(const Node& node) {
  if (node.is_constant() || node.form != Form::Plain || node.is_view()) return false;
  const Op& op = *node.op;
  const bool is_reduction = op.lowering == Lowering::Reduce && op.lowering.as<lowering::Reduce>() == nullptr;
  return op.decompose != nullptr && (is_reduction || op.lowering == Lowering::Composite) && !op.may_fail() &&
         !op.is_ordered() && custom_function(op) == nullptr;
}

bool is_one_reduction(const Fragment& body) {
  const auto is_reduction = [](const Fragment::Step& each) {
    return each.op != nullptr && each.op->lowering.as<lowering::Reduce>() != nullptr;
  };
  const auto is_loop = [&](const Fragment::Step& each) {
    return each.op != nullptr && (each.op->pointwise != nullptr || is_reduction(each));
  };
  return body.steps.size() <= kMostSteps && std::all_of(body.steps.begin(), body.steps.end(), is_loop) &&
         std::count_if(body.steps.begin(), body.steps.end(), is_reduction) == 1;
}

// The body of a step that is to be opened. What was asked for a step is asked for the whole.
std::optional<Fragment> body_of(const FlowGraph& flow, const FlowStep& step) {
  const Node& node = step.node;
  if (!has_body(node) || !step.guards.empty() || !has_few_elements(flow, node)) return std::nullopt;
  std::vector<TraceOperand> operands;
  for (const Operand& each : node.operands) operands.push_back(traced(flow, each));
  try {
    const Attrs attrs = to_attrs(*node.op, node.attrs);
    std::optional<Fragment> body = trace([&](Inputs given) { return run_body(*node.op, given, attrs); },
                                         operands, flow.hints, expands_nothing);
    if (!body || !is_one_reduction(*body)) return std::nullopt;
    std::erase_if(body->guards, asks_for_small_size);
    return body->guards.empty() ? std::move(body) : std::nullopt;
  } catch (const OpError&) {  // which the step has to raise
    return std::nullopt;
  }
}

bool has_any_body(const FlowGraph& flow) {
  return std::any_of(flow.blocks.begin(), flow.blocks.end(), [](const FlowBlock& block) {
    return std::any_of(block.steps.begin(), block.steps.end(),
                       [](const FlowStep& each) { return has_body(each.node); });
  });
}

}  // namespace

std::shared_ptr<const FlowGraph> opened(std::shared_ptr<const FlowGraph> flow) {
  if (!has_any_body(*flow)) return flow;
  FlowWriter writer(*flow);
  for (std::size_t b = 0; b < flow->blocks.size(); ++b) {
    writer.go_on_in(static_cast<BlockId>(b));
    writer.block().steps.clear();
    for (const FlowStep& each : flow->blocks[b].steps) {
      const std::optional<Fragment> body = body_of(*flow, each);
      if (!body) {
        writer.block().steps.push_back(each);
        continue;
      }
      FlowStep first = each;
      first.node.outputs.clear();
      writer.inline_fragment(*body, each.node.operands, first, each.node.outputs);
    }
  }
  return std::make_shared<const FlowGraph>(std::move(writer.flow));
}

}  // namespace kiln::jit

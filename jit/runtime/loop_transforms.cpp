// Loops under transforms: their ops run one by one, so that each has its own rule.
#include <algorithm>

#include "jit/flow/flow_graph.h"
#include "jit/flow/number_value.h"
#include "jit/runtime/loop_ops.h"
#include "tensor/functions.h"
#include "tensor/levels/batch_level.h"
#include "tensor/size_scope.h"

namespace kiln::jit {

Tensors loop_by_steps(const Op& op, Inputs inputs, const Attrs&) {
  const LoopFunction& function = *loop_function(op);
  std::vector<FlowValue> values(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (function.flow->values[i].type.is_number) {
      values[i].number = to_number(inputs[i]);
    } else {
      const std::vector<std::size_t>& written = function.written;
      const bool is_written = std::find(written.begin(), written.end(), i) != written.end();
      values[i].tensor = is_written || !inputs[i].is_contiguous() ? ops::clone(inputs[i]) : inputs[i];
    }
  }
  return run_loop_by(*by_steps(function.flow), function, values).results;
}

namespace {

Tensors one_by_one(const BatchArgs& args) {
  std::vector<std::vector<Tensor>> examples;
  for (std::int64_t b = 0; b < args.batch_size.fixed(); ++b) {
    Tensors example;
    for (std::size_t i = 0; i < args.inputs.size(); ++i)
      example.push_back(args.batched[i] ? ops::select(args.inputs[i], 0, b) : args.inputs[i]);
    const Tensors results = kiln::bind(args.op, example, args.attrs);
    examples.resize(results.size());
    for (std::size_t k = 0; k < results.size(); ++k) examples[k].push_back(results[k]);
  }
  if (examples.empty()) throw OpError(ErrorKind::Value, "a loop is batched over no examples");
  Tensors stacked;
  for (const std::vector<Tensor>& each : examples) stacked.push_back(ops::stack(each, 0));
  return stacked;
}

Tensors all_together(const BatchArgs& args) {
  levels::BatchLevel level(args.batch_size, levels::Randomness::Error);
  Tensors inputs;
  for (std::size_t i = 0; i < args.inputs.size(); ++i)
    inputs.push_back(args.batched[i] ? level.example_of(args.inputs[i]) : args.inputs[i]);
  Tensors results = loop_by_steps(args.op, inputs, args.attrs);
  for (Tensor& each : results) each = ops::contiguous(level.batch_of(each));
  return results;
}

bool asks_for_elements(const FlowGraph& flow) {
  const auto asks = [](const FlowStep& step) { return step.node.op == &number_op(NumberOp::Item); };
  return std::any_of(flow.blocks.begin(), flow.blocks.end(), [&](const FlowBlock& block) {
    return std::any_of(block.steps.begin(), block.steps.end(), asks);
  });
}

// What is noted has no elements yet that could be asked for.
bool is_noted() {
  for (const levels::Level* each = levels::top; each != nullptr; each = each->below())
    if (each->kind() == LevelKind::Trace) return true;
  return SizeScope::current() != nullptr;
}

}  // namespace

Tensors loop_of_examples(const BatchArgs& args) {
  if (is_noted() && asks_for_elements(*loop_function(args.op)->flow)) return one_by_one(args);
  try {
    return all_together(args);
  } catch (const OpError& error) {
    if (error.kind() == ErrorKind::Interrupted) throw;
  }
  return one_by_one(args);
}

}  // namespace kiln::jit

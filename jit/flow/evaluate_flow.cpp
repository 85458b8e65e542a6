#include <algorithm>

#include "jit/flow/flow_stack.h"
#include "jit/flow/number_value.h"
#include "jit/graph/trace.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/interrupt.h"
#include "tensor/levels/wrapper.h"

namespace kiln::jit {
namespace {

// One run, from the first block to an exit.
class Run {
 public:
  Run(const FlowGraph& flow, std::span<const FlowValue> inputs, const FlowStacks& stacks)
      : flow_(flow), values_(flow.values.size()), stacks_(stacks) {
    if (stacks.popped != nullptr) left_ = stacks.popped->values.size();
    for (std::size_t i = 0; i < inputs.size(); ++i) put(static_cast<ValueId>(i), inputs[i]);
    for (std::size_t i = 0; i < inputs.size(); ++i) find_symbols(flow.values[i].type, inputs[i].tensor);
  }

  FlowResult run() {
    BlockId at = 0;
    for (;;) {
      const FlowBlock& block = flow_.blocks[static_cast<std::size_t>(at)];
      if (block.begins_loop) {
        ++result_.iterations;
        if (block.interrupted != kCannotFail && interrupt_requested && interrupt_is_due())
          return leave(block.interrupted);
      }
      for (const FlowStep& each : block.steps) {
        if (!holds(each) || !apply(each)) return leave(each.exit);
      }
      if (block.end.kind == FlowEnd::Kind::Leave) return leave(block.end.exit);
      at = jump(next(block.end));
    }
  }

 private:
  FlowValue& at(ValueId id) { return values_[static_cast<std::size_t>(id)]; }

  void put(ValueId id, FlowValue value) {
    const auto* whole = std::get_if<std::int64_t>(&value.number);
    if (flow_.type(id).is_number && whole != nullptr) symbols_[symbol_of(id)] = *whole;
    at(id) = std::move(value);
  }
  // What the sizes and strides of an input say of symbols that are one of them.
  void find_symbols(const Type& type, const Tensor& x) {
    if (type.is_number) return;
    const auto find = [this](const Dims& stated, std::span<const Dim> given) {
      for (std::size_t d = 0; d < stated.size(); ++d) {
        const std::string symbol = stated[d].text();
        if (flow_.hints.contains(symbol)) symbols_.emplace(symbol, given[d].known());
      }
    };
    find(type.sizes, x.sizes());
    if (type.strides) find(*type.strides, x.strides());
  }

  FlowValue value(const Operand& operand) {
    if (operand.is_value()) return at(operand.value);
    if (!operand.is_number()) return {};
    FlowValue result;
    if (const auto* size = std::get_if<Dim>(&operand.number)) {
      result.number = kiln::evaluate(*size, symbols_);
    } else if (const auto* flag = std::get_if<bool>(&operand.number)) {
      result.number = *flag;
    } else {
      result.number = std::get<double>(operand.number);
    }
    return result;
  }
  Tensor tensor(const Operand& operand) {
    if (!operand.is_value() && !operand.is_number()) return {};
    const FlowValue found = value(operand);
    return found.tensor ? found.tensor : to_tensor(found.number);
  }

  bool holds(const FlowStep& step) const {
    return std::all_of(step.guards.begin(), step.guards.end(),
                       [this](const SizeGuard& each) { return kiln::holds(each, symbols_); });
  }

  // False where the step fails, which has done nothing then.
  bool apply(const FlowStep& step) {
    if (keeps(step.node)) return true;
    const HeldInterrupts whole;
    try {
      if (asks(step.node)) return true;
      const Tensors results = compute(step.node);
      for (std::size_t k = 0; k < results.size(); ++k) {
        const ValueId id = step.node.outputs[k];
        FlowValue value;
        if (flow_.type(id).is_number) {
          value.number = to_number(results[k]);
        } else {
          value.tensor = results[k];
        }
        put(id, std::move(value));
      }
      return true;
    } catch (const OpError&) {
      if (step.exit == kCannotFail) throw;
      return false;
    }
  }
  // Does it push or pop? That is done then.
  bool keeps(const Node& node) {
    if (node.op == &push_op()) {
      FlowValue pushed = value(node.operands[0]);
      if (pushed.tensor) pushed.tensor = ops::clone(pushed.tensor);
      stacks_.pushed->values.push_back(std::move(pushed));
    } else if (node.op == &pop_op()) {
      put(node.outputs[0], stacks_.popped->values[--left_]);
    } else {
      return false;
    }
    return true;
  }
  // Does it ask for the number in a tensor of a transform? That is read as the program reads it: it carries
  // no derivative, and one that differs between examples is refused.
  bool asks(const Node& node) {
    if (node.op != &number_op(NumberOp::Item)) return false;
    const Tensor x = tensor(node.operands[0]);
    if (levels::wrapper_of(x) == nullptr) return false;
    FlowValue read;
    read.number = to_number(x);
    put(node.outputs[0], std::move(read));
    return true;
  }
  Tensors compute(const Node& node) {
    if (node.is_constant()) return {ops::clone(node.constant)};
    SmallVector<Tensor, 4> operands;
    for (const Operand& each : node.operands) operands.push_back(tensor(each));
    const Attrs attrs = evaluate(*node.op, node.attrs, symbols_);
    if (node.writes()) return {bind_inplace(*node.op, operands, attrs)};
    Tensors results = kiln::bind(*node.op, operands, attrs);
    if (node.form == Form::Copy) {
      for (Tensor& each : results) each = ops::clone(each);
    }
    return results;
  }

  const FlowEnd::Target& next(const FlowEnd& end) {
    if (end.kind == FlowEnd::Kind::Jump) return end.then;
    return std::get<bool>(value(end.condition).number) ? end.then : end.other;
  }
  // All arguments are read before any parameter changes.
  BlockId jump(const FlowEnd::Target& target) {
    std::vector<FlowValue> arguments;
    for (const Operand& each : target.arguments) arguments.push_back(value(each));
    const FlowBlock& block = flow_.blocks[static_cast<std::size_t>(target.block)];
    for (std::size_t k = 0; k < arguments.size(); ++k) put(block.parameters[k], std::move(arguments[k]));
    return target.block;
  }

  FlowResult leave(ExitId id) {
    result_.exit = id;
    for (const Operand& each : flow_.exits[static_cast<std::size_t>(id)].values)
      result_.values.push_back(value(each));
    return std::move(result_);
  }

  const FlowGraph& flow_;
  std::vector<FlowValue> values_;
  SymbolValues symbols_;
  FlowResult result_;
  FlowStacks stacks_;
  std::size_t left_ = 0;  // on the stack that is popped
};

class Evaluated final : public RunnableFlow {
 public:
  Evaluated(std::shared_ptr<const FlowGraph> flow, bool records)
      : flow_(std::move(flow)), records_(records) {}
  FlowResult run(std::span<const FlowValue> inputs, const FlowStacks& stacks) override {
    if (stacks.popped != nullptr && stacks.popped->memory) return {kCannotFail, {}, 0};
    const NoLevels no_levels;
    const GradMode mode(records_);
    return Run(*flow_, inputs, stacks).run();
  }

 private:
  std::shared_ptr<const FlowGraph> flow_;
  bool records_;
};

class BySteps final : public RunnableFlow {
 public:
  explicit BySteps(std::shared_ptr<const FlowGraph> flow) : flow_(std::move(flow)) {}
  FlowResult run(std::span<const FlowValue> inputs, const FlowStacks& stacks) override {
    return Run(*flow_, inputs, stacks).run();
  }

 private:
  std::shared_ptr<const FlowGraph> flow_;
};

}  // namespace

std::unique_ptr<RunnableFlow> evaluated(std::shared_ptr<const FlowGraph> flow) {
  return std::make_unique<Evaluated>(std::move(flow), false);
}

std::unique_ptr<RunnableFlow> recorded(std::shared_ptr<const FlowGraph> flow) {
  return std::make_unique<Evaluated>(std::move(flow), true);
}

std::unique_ptr<RunnableFlow> by_steps(std::shared_ptr<const FlowGraph> flow) {
  return std::make_unique<BySteps>(std::move(flow));
}

}  // namespace kiln::jit

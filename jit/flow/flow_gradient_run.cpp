#include "jit/flow/flow_gradient_run.h"

#include <algorithm>
#include <map>

#include "jit/flow/flow_activity.h"
#include "jit/flow/flow_stack.h"
#include "tensor/functions.h"
#include "tensor/interrupt.h"
#include "tensor/tape/saved.h"

namespace kiln::jit {
namespace {

constexpr ExitId kAllKnown = 0, kInterrupted = 2;

std::unique_ptr<RunnableFlow> runnable(const FlowGraph& graph, bool as_code, std::size_t& code_bytes) {
  auto shared = std::make_shared<const FlowGraph>(graph);
  if (!as_code) return evaluated(std::move(shared));
  CompiledFlow code = compile_flow(std::move(shared));
  if (!code.run) throw OpError(ErrorKind::Capture, code.reason);
  code_bytes += code.code_bytes;
  return std::move(code.run);
}

// The same elements as they are now, whatever is written later.
Tensor shared(const Tensor& x) { return x ? tape::Saved(x).unpack(x.type()) : Tensor(); }

Tensor row_major_copy(const Tensor& x) { return ops::contiguous(ops::clone(x)); }
Tensor filled(const FlowValue& like, double value) {
  const Tensor& x = like.tensor;
  return ops::full(x.sizes(), Tensor::number(value), x.dtype(), x.device());
}

// What the sizes and strides of inputs say of the flow's symbols.
SymbolValues symbols_of(const FlowGraph& flow, std::span<const FlowValue> inputs) {
  SymbolValues symbols;
  const auto find = [&](const Dims& stated, std::span<const Dim> given) {
    for (std::size_t d = 0; d < stated.size(); ++d) {
      const std::string symbol = stated[d].text();
      if (flow.hints.contains(symbol)) symbols.emplace(symbol, given[d].known());
    }
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Type& type = flow.values[i].type;
    if (type.is_number) continue;
    find(type.sizes, inputs[i].tensor.sizes());
    if (type.strides) find(*type.strides, inputs[i].tensor.strides());
  }
  return symbols;
}

std::vector<bool> written_inputs(const FlowGraph& flow, const std::vector<bool>& wanted) {
  const FlowActivity activity(flow, wanted);
  std::vector<bool> written;
  for (std::size_t i = 0; i < flow.inputs.size(); ++i)
    written.push_back(activity.is_written(static_cast<ValueId>(i)));
  return written;
}

// One flow back from an exit.
struct RunnableBackward {
  FlowBackward backward;
  std::unique_ptr<RunnableFlow> run;  // null: `why_not`
  std::string why_not;
};

class Differentiated final : public DifferentiatedFlow {
 public:
  Differentiated(const FlowGraph& flow, const std::vector<bool>& wanted, bool as_code)
      : derivative_(differentiate(flow, wanted)),
        as_code_(as_code),
        forward_(runnable(derivative_->forward(), as_code, code_bytes_)),
        writes_(written_inputs(flow, wanted)) {}

  const FlowDerivative& derivative() const override { return *derivative_; }
  bool writes(std::size_t input) const override { return writes_[input]; }
  std::size_t code_bytes() const override { return code_bytes_; }
  const std::map<std::string, std::int64_t>& left_to_tape() const override { return left_to_tape_; }

  FlowForward forward(std::span<const FlowValue> inputs) override {
    auto stack = std::make_shared<FlowStack>();
    stack->expected = last_bytes_;
    auto kept = std::make_shared<FlowKept>();
    for (const FlowValue& each : inputs) kept->inputs.push_back({shared(each.tensor), each.number});
    FlowForward done;
    done.result = forward_->run(inputs, {stack.get(), nullptr});
    if (!derivative_->has_derivative(done.result.exit)) {
      undo(inputs, *kept);
      return done;
    }
    kept->exit = done.result.exit;
    last_bytes_ = stack->bytes;
    kept->stack = std::move(stack);
    done.kept = std::move(kept);
    return done;
  }

  std::optional<Tensors> backward(const FlowKept& kept, std::span<const Tensor> cotangents,
                                  std::span<const Tensor> onto) override {
    RunnableBackward& back = backward_of(kept.exit, cotangents);
    if (back.run == nullptr) return leave_to_tape(back.why_not);
    if (!can_continue(back.backward, onto))
      return leave_to_tape("gradients of a tensor come to a sum that was begun behind the loop");
    std::vector<FlowValue> given;
    for (const FlowBackward::Input& each : back.backward.inputs)
      given.push_back(input(each, kept, cotangents, onto));
    const FlowResult result = back.run->run(given, {nullptr, kept.stack.get()});
    if (result.exit == kInterrupted) check_interrupt();
    if (result.exit != kAllKnown)
      return leave_to_tape(back.backward.graph.exits[static_cast<std::size_t>(result.exit)].reason);
    return gradients(back.backward, result, onto);
  }

 private:
  std::nullopt_t leave_to_tape(const std::string& reason) {
    ++left_to_tape_[reason];
    return std::nullopt;
  }

  // What was written had memory of its own from then on, since the old one is kept.
  static void undo(std::span<const FlowValue> inputs, const FlowKept& kept) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].tensor) continue;
      const Ref<Buffer>& before = kept.inputs[i].tensor.storage()->buffer();
      const Ref<Storage>& storage = inputs[i].tensor.storage();
      if (storage->buffer() != before) storage->replace(before);
    }
  }

  RunnableBackward& backward_of(ExitId exit, std::span<const Tensor> cotangents) {
    std::vector<bool> given;
    for (const Tensor& each : cotangents) given.push_back(static_cast<bool>(each));
    const auto [known, is_new] = backwards_.try_emplace({exit, given});
    if (is_new) make_backward(known->second, exit, given);
    return known->second;
  }
  void make_backward(RunnableBackward& back, ExitId exit, const std::vector<bool>& given) {
    try {
      std::optional<FlowBackward> made = derivative_->backward(exit, given);
      if (!made) {
        back.why_not = "whether a gradient comes to a tensor is known only when it has run";
        return;
      }
      back.backward = *std::move(made);
      back.run = runnable(back.backward.graph, as_code_, code_bytes_);
    } catch (const OpError& error) {
      back.why_not = error.message();
    }
  }

  static bool can_continue(const FlowBackward& back, std::span<const Tensor> onto) {
    for (std::size_t i = 0; i < onto.size(); ++i)
      if (onto[i] && back.gradients[i] && !back.continues[i]) return false;
    return true;
  }

  FlowValue input(const FlowBackward::Input& what, const FlowKept& kept, std::span<const Tensor> cotangents,
                  std::span<const Tensor> onto) const {
    FlowValue value;
    switch (what.kind) {
      case FlowBackward::Input::Kind::Symbol:
        value.number = symbols_of(derivative_->flow(), kept.inputs).at(what.symbol);
        return value;
      case FlowBackward::Input::Kind::Given:
        return kept.inputs[what.number];
      case FlowBackward::Input::Kind::Cotangent:
        value.tensor = row_major_copy(cotangents[what.number]);
        return value;
      case FlowBackward::Input::Kind::Gradient:
        value.tensor = what.number < onto.size() && onto[what.number]
                           ? row_major_copy(onto[what.number])
                           : filled(kept.inputs[what.number], -0.0);
        return value;
    }
    return value;
  }

  // What no gradient comes to keeps the sum that was begun.
  static Tensors gradients(const FlowBackward& back, const FlowResult& result, std::span<const Tensor> onto) {
    Tensors made(back.gradients.size());
    std::copy(onto.begin(), onto.end(), made.begin());
    for (std::size_t i = 0; i < made.size(); ++i)
      if (back.gradients[i] && !is_absent(back, result, i))
        made[i] = result.values[*back.gradients[i]].tensor;
    return made;
  }
  static bool is_absent(const FlowBackward& back, const FlowResult& result, std::size_t input) {
    for (const auto& [uncertain, place] : back.uncertain) {
      if (uncertain != input) continue;
      const Tensor& absent = result.values[back.absent].tensor;
      return ops::select(absent, 0, static_cast<std::int64_t>(place)).item_bool();
    }
    return false;
  }

  std::shared_ptr<const FlowDerivative> derivative_;
  bool as_code_;
  std::size_t code_bytes_ = 0;
  std::unique_ptr<RunnableFlow> forward_;
  std::vector<bool> writes_;    // by input
  std::size_t last_bytes_ = 0;  // of the stack that the last run left
  std::map<std::pair<ExitId, std::vector<bool>>, RunnableBackward> backwards_;
  std::map<std::string, std::int64_t> left_to_tape_;
};

}  // namespace

std::size_t FlowKept::bytes() const {
  std::size_t bytes = stack->bytes;
  for (const FlowValue& each : stack->values)
    bytes +=
        each.tensor ? static_cast<std::size_t>(each.tensor.numel().hint()) * size_of(each.tensor.dtype()) : 8;
  return bytes;
}

std::unique_ptr<DifferentiatedFlow> differentiate_flow(std::shared_ptr<const FlowGraph> flow,
                                                       const std::vector<bool>& wanted, bool as_code) {
  return std::make_unique<Differentiated>(*flow, wanted, as_code);
}

}  // namespace kiln::jit

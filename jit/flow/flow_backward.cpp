#include <algorithm>
#include <map>

#include "jit/flow/flow_kept.h"
#include "jit/flow/flow_writer.h"
#include "jit/graph/custom.h"
#include "tensor/functions.h"
#include "tensor/substitute.h"

namespace kiln::jit {
namespace {

using Kind = FlowKept::Kind;

constexpr ExitId kDone = 0, kOtherSizes = 1, kInterrupted = 2;

// What a step's derivative is traced on: which of the traced tensors are its operands, results and gradients.
struct RuleInputs {
  std::vector<TraceOperand> traced;
  std::vector<Operand> given;                     // of the backward flow
  std::vector<int> operands, results, gradients;  // positions in these; -1: absent

  int add(TraceOperand trace, Operand value) {
    traced.push_back(std::move(trace));
    given.push_back(std::move(value));
    return static_cast<int>(given.size()) - 1;
  }
};

TensorType trace_type(const Type& type) { return {type.dtype, type.device, type.sizes, type.is_number}; }

// The derivative of the step, as its row has it. The type of what is computed may differ from that of what it
// is written to.
Tensors run_rule(const FlowGraph& flow, const Node& node, const RuleInputs& at, Inputs traced,
                 std::span<const bool> needs) {
  const Attrs attrs = to_attrs(*node.op, node.attrs);
  const auto found = [&](const std::vector<int>& positions) {
    Tensors tensors;
    for (const int each : positions)
      tensors.push_back(each < 0 ? Tensor() : traced[static_cast<std::size_t>(each)]);
    return tensors;
  };
  std::vector<TensorType> operand_types, result_types;
  for (const Operand& each : node.operands) {
    const bool is_absent = !each.is_value() && !each.is_number();
    operand_types.push_back(trace_type(is_absent ? absent_type() : operand_type(flow, each)));
  }
  result_types = node.op->infer(operand_types, attrs);
  Tensors gradients = found(at.gradients);
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    const TensorType& type = result_types[k];
    if (!gradients[k]) gradients[k] = ops::zeros(type.sizes, type.dtype, type.device);
    if (gradients[k].dtype() != type.dtype) gradients[k] = ops::to(gradients[k], type.dtype);
  }
  const Tensors operands = found(at.operands), results = found(at.results);
  return derivative_of(*node.op)(
      {*node.op, attrs, operands, results, operand_types, result_types, gradients, needs});
}

// Writes the way back through one block.
class BlockBack {
 public:
  BlockBack(FlowWriter& writer, const FlowGraph& flow, const FlowActivity& activity)
      : writer_(writer), flow_(flow), activity_(activity) {}

  void pop(const std::vector<FlowKept>& kept) {
    std::for_each(kept.rbegin(), kept.rend(), [this](const FlowKept& each) { pop(each); });
  }
  Operand from() const { return Operand::of(from_); }

  void steps(const FlowBlock& block, const FlowKeptBlock& kept) {
    for (std::size_t k = block.steps.size(); k-- > 0;) {
      pop(kept.after[k]);
      results_.swap(copies_);
      copies_.clear();
      pop(kept.before[k]);
      step(block.steps[k].node);
      results_.clear();
      copies_.clear();
    }
  }

  // The memory of the gradient of what a value shows.
  ValueId gradient(ValueId id) {
    const auto known = gradients_.find(id);
    if (known != gradients_.end()) return known->second;
    const Node& view = *activity_.shown_by(id);
    ValueId shown = gradient(view.viewed().value);
    if (!view.writes()) shown = writer_.apply(*view.op, {Operand::of(shown)}, here(view.attrs), view);
    return gradients_[id] = shown;
  }

 private:
  // ---- What was kept ----

  void pop(const FlowKept& kept) {
    if (kept.kind == Kind::From) {
      from_ = writer_.pop(number_type(DType::I64), 0);
    } else if (kept.kind == Kind::Size) {
      const std::int64_t hint = hint_of(kept.symbol);
      sizes_.insert_or_assign(kept.symbol,
                              Dim::symbol(symbol_of(writer_.pop(number_type(DType::I64), hint))));
    } else {
      const Type& type = flow_.type(kept.id);
      if (type.is_number) {
        values_[kept.id] = writer_.pop(type, hint_of(symbol_of(kept.id)));
        return;
      }
      const ValueId made = writer_.pop({type.dtype, type.device, here(type.sizes), false, std::nullopt});
      (kept.kind == Kind::Gradient ? gradients_
       : kept.kind == Kind::Copy   ? copies_
                                   : values_)[kept.id] = made;
    }
  }
  std::int64_t hint_of(const std::string& symbol) const {
    const auto found = flow_.hints.find(symbol);
    return found == flow_.hints.end() ? 1 : found->second;
  }

  // ---- Sizes of the flow in terms of what was popped ----

  Dim here(Dim size) const { return substitute(size, sizes_); }
  Dims here(Dims sizes) const {
    for (Dim& each : sizes) each = here(each);
    return sizes;
  }
  std::vector<Attr> here(std::vector<Attr> attrs) const {
    for (Attr& each : attrs) {
      if (auto* size = std::get_if<Dim>(&each)) *size = here(*size);
      if (auto* sizes = std::get_if<Dims>(&each)) *sizes = here(*sizes);
    }
    return attrs;
  }
  Operand here(Operand operand) const {
    if (auto* size = std::get_if<Dim>(&operand.number); operand.is_number() && size != nullptr)
      *size = here(*size);
    return operand;
  }
  Fragment here(Fragment fragment) const {
    for (Fragment::Step& each : fragment.steps) {
      each.attrs = here(std::move(each.attrs));
      for (Operand& operand : each.operands) operand = here(std::move(operand));
    }
    for (Operand& each : fragment.outputs) each = here(std::move(each));
    for (SizeGuard& each : fragment.guards) {
      each.a = here(each.a);
      each.b = here(each.b);
    }
    return fragment;
  }

  // ---- Steps ----

  void step(const Node& node) {
    if (!is_differentiated(activity_, node)) return;
    RuleInputs inputs;
    if (!take_gradients(node, inputs)) return;
    inputs.operands.assign(node.operands.size(), -1);
    inputs.results.assign(node.outputs.size(), -1);
    for (const std::size_t i : read_operands(activity_, node))
      inputs.operands[i] = add(inputs, node.operands[i].value, copies_);
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      if (node.operands[i].is_number())
        inputs.operands[i] = inputs.add(traced(flow_, node.operands[i]), here(node.operands[i]));
    }
    for (const std::size_t k : read_results(activity_, node))
      inputs.results[k] = add(inputs, node.outputs[k], results_);
    apply_rule(node, inputs);
  }
  int add(RuleInputs& inputs, ValueId id, const std::map<ValueId, ValueId>& copies) const {
    const auto copy = copies.find(id);
    const ValueId value = copy != copies.end() ? copy->second : values_.at(id);
    return inputs.add(traced(flow_, Operand::of(id)), Operand::of(value));
  }

  // The gradients of the results, which are done with then. False: there are none.
  bool take_gradients(const Node& node, RuleInputs& inputs) {
    bool any = false;
    for (const ValueId id : node.outputs) {
      const std::optional<Operand> found = take_gradient(node, id);
      any = any || found;
      inputs.gradients.push_back(found ? inputs.add(traced(flow_, Operand::of(id)), *found) : -1);
    }
    return any;
  }
  std::optional<Operand> take_gradient(const Node& node, ValueId id) {
    if (!activity_.is_active(id)) return std::nullopt;
    if (!activity_.is_in_memory(id)) {
      const auto found = local_.find(id);
      if (found == local_.end()) return std::nullopt;
      return found->second;
    }
    const ValueId memory = gradient(id);
    if (!node.writes()) return Operand::of(memory);
    // Nothing of what was there before has this gradient.
    const ValueId taken = writer_.apply("clone", {Operand::of(memory)}, node);
    writer_.apply("zero", {Operand::of(memory)}, node, Form::Write);
    return Operand::of(taken);
  }

  void apply_rule(const Node& node, const RuleInputs& inputs) {
    const std::size_t count = node.operands.size();
    const auto needs = std::make_unique<bool[]>(count);
    for (std::size_t i = 0; i < count; ++i) needs[i] = activity_.is_active(node.operands[i]);
    if (std::none_of(needs.get(), needs.get() + count, [](bool each) { return each; })) return;
    const auto body = [&](Inputs given) {
      return run_rule(flow_, node, inputs, given, {needs.get(), count});
    };
    const std::optional<Fragment> rule = trace(body, inputs.traced, flow_.hints, differentiates_by_body);
    if (!rule)
      throw OpError(ErrorKind::Capture,
                    "the derivative of " + std::string(node.op->name()) + " reads elements");
    FlowStep like;
    like.node.place = node.place;
    like.node.origin = std::string(node.op->name());
    like.exit = kOtherSizes;
    const std::vector<Operand> gradients = writer_.inline_fragment(here(*rule), inputs.given, like);
    for (std::size_t i = 0; i < count; ++i) {
      if (needs[i] && gradients[i].is_value()) accumulate(node.operands[i].value, gradients[i], node);
    }
  }
  void accumulate(ValueId id, const Operand& gradient_of_id, const Node& like) {
    if (activity_.is_in_memory(id)) {
      writer_.apply("add", {Operand::of(gradient(id)), gradient_of_id}, like, Form::Write);
      return;
    }
    const auto [known, is_first] = local_.try_emplace(id, gradient_of_id);
    if (!is_first) known->second = Operand::of(writer_.apply("add", {known->second, gradient_of_id}, like));
  }

  FlowWriter& writer_;
  const FlowGraph& flow_;
  const FlowActivity& activity_;
  SymbolSizes sizes_;
  std::map<ValueId, ValueId> values_, copies_, results_, gradients_;
  std::map<ValueId, Operand> local_;  // gradients that are values
  ValueId from_ = Operand::kAbsent;
};

class Backwards {
 public:
  Backwards(const FlowGraph& flow, const FlowActivity& activity, const FlowGradient& asked, ExitId exit,
            const FlowRecord& record)
      : flow_(flow), activity_(activity), asked_(asked), exit_(exit), record_(record) {}

  FlowGraph make() {
    writer_.flow.name = flow_.name + " backwards";
    const std::vector<Operand>& values = flow_.exits[static_cast<std::size_t>(exit_)].values;
    for (const std::size_t k : asked_.results) input(values[k].value);
    for (const ValueId id : asked_.written) input(id);
    writer_.flow.exits.resize(3);
    writer_.flow.exits[kDone].reason = "all gradients are known";
    writer_.flow.exits[kOtherSizes].reason = "a derivative depends on sizes that differ";
    writer_.flow.exits[kInterrupted].reason = "it was interrupted";
    for (std::size_t b = 0; b <= flow_.blocks.size(); ++b) writer_.begin_block();
    begin();
    for (std::size_t b = 0; b < flow_.blocks.size(); ++b) block(b);
    return std::move(writer_.flow);
  }

 private:
  static BlockId back(BlockId block) { return block + 1; }

  // The gradient of a value where the flow is left, with symbols of its own as sizes.
  void input(ValueId id) {
    const Type& type = flow_.type(id);
    Type own{type.dtype, type.device, {}, false, std::nullopt};
    for (const Dim each : type.sizes) own.sizes.push_back(each.is_known() ? each : size_symbol(each));
    writer_.flow.inputs.push_back(Role::Grad);
    writer_.value(std::move(own));
  }
  Dim size_symbol(Dim size) {
    const std::string name = "g" + std::to_string(symbols_++);
    writer_.flow.hints.emplace(name, evaluate(size, flow_.hints));
    return Dim::symbol(name);
  }

  void begin() {
    writer_.go_on_in(0);
    BlockBack back_from(writer_, flow_, activity_);
    back_from.pop(record_.leave);
    const std::vector<Operand>& values = flow_.exits[static_cast<std::size_t>(exit_)].values;
    ValueId next = 0;
    const auto add = [&](ValueId id) {
      writer_.apply("add", {Operand::of(back_from.gradient(id)), Operand::of(next++)}, Node{}, Form::Write);
    };
    for (const std::size_t k : asked_.results) add(values[k].value);
    for (const ValueId id : asked_.written) add(id);
    go_to(record_.leaving, back_from.from());
  }

  // Ends the block under way: on to the blocks that lie before, by the number of the way.
  void go_to(const std::vector<BlockId>& ways, Operand from) {
    for (std::size_t k = 0; k + 1 < ways.size(); ++k) {
      const ValueId is_this =
          writer_.number(NumberOp::Equal, {from, Operand::of_number(Dim(static_cast<std::int64_t>(k)))});
      const BlockId here = writer_.at();
      const BlockId next = writer_.begin_block();
      FlowEnd& end = writer_.flow.blocks[static_cast<std::size_t>(here)].end;
      end.kind = FlowEnd::Kind::Branch;
      end.condition = Operand::of(is_this);
      end.then = {back(ways[k]), {}};
      end.other = {next, {}};
    }
    FlowEnd& end = writer_.block().end;
    if (ways.empty()) {
      end.exit = kOtherSizes;  // nothing leads here
      return;
    }
    end.kind = FlowEnd::Kind::Jump;
    end.then = {back(ways.back()), {}};
  }

  void block(std::size_t b) {
    const FlowBlock& source = flow_.blocks[b];
    const FlowKeptBlock& kept = record_.blocks[b];
    writer_.go_on_in(back(static_cast<BlockId>(b)));
    if (source.begins_loop) {
      writer_.block().begins_loop = true;
      writer_.block().interrupted = kInterrupted;
    }
    BlockBack back_through(writer_, flow_, activity_);
    back_through.pop(kept.end);
    if (kept.before.size() == source.steps.size()) back_through.steps(source, kept);
    if (b != 0) return go_to(kept.ways, back_through.from());
    back_through.pop(record_.begin);
    FlowExit& done = writer_.flow.exits[kDone];
    for (const ValueId id : asked_.wanted) done.values.push_back(Operand::of(back_through.gradient(id)));
    writer_.block().end.exit = kDone;
  }

  const FlowGraph& flow_;
  const FlowActivity& activity_;
  const FlowGradient& asked_;
  ExitId exit_;
  const FlowRecord& record_;
  FlowWriter writer_;
  int symbols_ = 0;
};

}  // namespace

FlowGraph backwards(const FlowGraph& flow, const FlowActivity& activity, const FlowGradient& asked,
                    ExitId exit, const FlowRecord& record) {
  return Backwards(flow, activity, asked, exit, record).make();
}

FlowGradient differentiate(const FlowGraph& flow, const std::vector<bool>& wanted, ExitId exit) {
  const FlowGraph steps = expanded(flow);
  const FlowActivity activity(steps, wanted, exit);
  FlowGradient made;
  for (std::size_t i = 0; i < steps.inputs.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (wanted[i]) made.wanted.push_back(id);
    if (activity.is_active(id) && activity.is_written(id)) made.written.push_back(id);
  }
  const std::vector<Operand>& values = steps.exits[static_cast<std::size_t>(exit)].values;
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (activity.is_active(values[k])) made.results.push_back(k);
  }
  KeepingFlow kept = keeping(steps, activity, made, exit);
  made.backward = backwards(steps, activity, made, exit, kept.record);
  made.forward = std::move(kept.flow);
  return made;
}

}  // namespace kiln::jit

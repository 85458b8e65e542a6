#include <algorithm>
#include <map>
#include <set>

#include "jit/flow/flow_kept.h"
#include "jit/flow/flow_writer.h"
#include "jit/shape_rules.h"
#include "tensor/core_ops.h"

namespace kiln::jit {
namespace {

using Kind = FlowKept::Kind;

// Which values the gradients of active operands read.
Saves saves_of(const FlowActivity& activity, const Node& node) {
  const Op& op = *node.op;
  if (op.saves_by_input.empty()) return op.saves;
  Saves wanted;
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    if (activity.is_active(node.operands[i]))
      wanted = wanted | op.saves_by_input[std::min(i, op.saves_by_input.size() - 1)];
  }
  return wanted;
}
bool has_bit(std::uint32_t bits, std::size_t i) { return ((bits >> std::min<std::size_t>(i, 31)) & 1U) != 0; }

class Keeping {
 public:
  Keeping(const FlowGraph& flow, const FlowActivity& activity, const FlowGradient& asked, ExitId exit)
      : flow_(flow), activity_(activity), asked_(asked), exit_(exit), writer_(flow) {
    record_.blocks.resize(flow.blocks.size());
    find_ways();
  }

  KeepingFlow make() {
    for (const std::size_t b : order()) block(b);
    return {std::move(writer_.flow), std::move(record_)};
  }

 private:
  // ---- Ways ----

  template <class F>
  static void each_target(FlowEnd& end, const F& f) {
    if (end.kind == FlowEnd::Kind::Leave) return;
    f(end.then);
    if (end.kind == FlowEnd::Kind::Branch) f(end.other);
  }
  void find_ways() {
    for (std::size_t b = 0; b < flow_.blocks.size(); ++b) {
      FlowEnd end = flow_.blocks[b].end;
      each_target(
          end, [&](const FlowEnd::Target& target) { ways(target.block).push_back(static_cast<BlockId>(b)); });
      if (end.kind == FlowEnd::Kind::Leave && end.exit == exit_)
        record_.leaving.push_back(static_cast<BlockId>(b));
    }
    way_.assign(flow_.blocks.size(), 0);
  }
  std::vector<BlockId>& ways(BlockId block) { return record_.blocks[static_cast<std::size_t>(block)].ways; }
  // Definitions come before uses.
  std::vector<std::size_t> order() const {
    std::vector<std::size_t> found{0};
    std::set<std::size_t> seen{0};
    for (std::size_t next = 0; next < found.size(); ++next) {
      FlowEnd end = flow_.blocks[found[next]].end;
      each_target(end, [&](const FlowEnd::Target& target) {
        if (seen.insert(static_cast<std::size_t>(target.block)).second)
          found.push_back(static_cast<std::size_t>(target.block));
      });
    }
    return found;
  }

  // ---- Blocks ----

  void block(std::size_t b) {
    const FlowBlock& source = flow_.blocks[b];
    FlowKeptBlock& kept = record_.blocks[b];
    kept.before.resize(source.steps.size());
    kept.after.resize(source.steps.size());
    writer_.go_on_in(static_cast<BlockId>(b));
    writer_.block().steps.clear();
    ends_.clear();
    symbols_.clear();
    parameters(b);
    if (b == 0) begin();
    for (std::size_t k = 0; k < source.steps.size(); ++k)
      step(source.steps[k], kept.before[k], kept.after[k]);
    for (const FlowKept& each : ends_) push(each, kept.end);
    push_symbols(kept.end);
    if (kept.ways.size() > 1) push({Kind::From}, kept.end);
    end(b);
  }

  // Active parameters have one beside them for their gradient; the last says by which way the block was come
  // to.
  void parameters(std::size_t b) {
    for (const ValueId id : flow_.blocks[b].parameters) {
      if (activity_.is_active(id)) gradients_[id] = writer_.parameter(gradient_type(id));
    }
    if (record_.blocks[b].ways.size() > 1) from_ = writer_.parameter(number_type(DType::I64), 0);
  }
  Type gradient_type(ValueId id) const {
    const Type& type = flow_.type(id);
    return {type.dtype, type.device, type.sizes, false, std::nullopt};
  }

  void begin() {
    for (std::size_t i = 0; i < flow_.inputs.size(); ++i) make_gradient(static_cast<ValueId>(i), Node{});
    for (const ValueId id : asked_.wanted) {
      note_symbols(flow_.type(id).sizes);
      push({Kind::Gradient, id}, record_.begin);
    }
  }
  void make_gradient(ValueId id, const Node& like) {
    if (!activity_.is_active(id) || activity_.root(id) != id || !activity_.is_in_memory(id)) return;
    const Op& zeros = core_ops().new_zeros;
    Attrs attrs(zeros);
    attrs.set("size", flow_.type(id).sizes);
    gradients_[id] = writer_.apply(zeros, {Operand::of(id)}, attr_list(attrs), like);
  }
  // The memory of the gradient of what a value shows.
  ValueId gradient_of(ValueId id) {
    if (activity_.root(id) != id)
      throw OpError(ErrorKind::Capture, "a view is carried from one iteration to the next");
    return gradients_.at(id);
  }

  // ---- Steps ----

  void step(const FlowStep& step, std::vector<FlowKept>& before, std::vector<FlowKept>& after) {
    const Node& node = step.node;
    const bool counts = is_differentiated(activity_, node);
    if (counts) {
      for (const std::size_t i : read_operands(activity_, node)) keep(node.operands[i].value, before);
      note_symbols(node);
    }
    writer_.block().steps.push_back(step);
    for (const ValueId id : node.outputs) {
      if (!flow_.type(id).is_number) make_gradient(id, node);
    }
    if (!counts) return;
    for (const std::size_t k : read_results(activity_, node)) keep(node.outputs[k], after);
    for (const Operand& each : node.operands) need_gradient(each);
    for (const ValueId id : node.outputs) need_gradient(Operand::of(id));
  }
  void need_gradient(const Operand& operand) {
    if (activity_.is_active(operand) && activity_.is_in_memory(operand.value))
      at_end({Kind::Gradient, activity_.root(operand.value)});
  }

  // The elements that a value has now. What stays as it is is kept itself, once for the block.
  void keep(ValueId id, std::vector<FlowKept>& here) {
    const Type& type = flow_.type(id);
    const bool stays =
        type.is_number || (activity_.root(id) == id && !activity_.is_written(id) && !type.strides);
    if (stays) return at_end({Kind::Value, id});
    const ValueId copy = writer_.apply(core_ops().clone, {Operand::of(id)}, Node{});
    writer_.push(Operand::of(copy));
    here.push_back({Kind::Copy, id});
    note_symbols(type.sizes);
  }
  void at_end(FlowKept kept) {
    const bool is_there = std::any_of(ends_.begin(), ends_.end(), [&](const FlowKept& each) {
      return each.kind == kept.kind && each.id == kept.id;
    });
    if (is_there) return;
    note_symbols(flow_.type(kept.id).sizes);
    ends_.push_back(std::move(kept));
  }

  // ---- Symbols ----

  void note_symbols(const Dims& sizes) {
    for (const Dim each : sizes) kiln::collect_symbols(each, symbols_);
  }
  void note_symbols(const Node& node) {
    collect_symbols(node.attrs, symbols_);
    for (const Operand& each : node.operands) {
      if (each.is_value()) note_symbols(flow_.type(each.value).sizes);
      const Dim* size = each.is_number() ? std::get_if<Dim>(&each.number) : nullptr;
      if (size != nullptr) kiln::collect_symbols(*size, symbols_);
    }
    for (const ValueId id : node.outputs) note_symbols(flow_.type(id).sizes);
    // A gradient in memory is shown by the views again.
    for (const Operand& each : node.operands) note_views(each);
    for (const ValueId id : node.outputs) note_views(Operand::of(id));
  }
  void note_views(const Operand& operand) {
    if (!operand.is_value() || flow_.type(operand.value).is_number) return;
    for (const Node* view = activity_.shown_by(operand.value); view != nullptr;
         view = activity_.shown_by(view->viewed().value)) {
      if (!view->writes()) collect_symbols(view->attrs, symbols_);
    }
  }
  void push_symbols(std::vector<FlowKept>& into) {
    for (const std::string& each : symbols_) push({Kind::Size, Operand::kAbsent, each}, into);
  }

  void push(const FlowKept& kept, std::vector<FlowKept>& into) {
    into.push_back(kept);
    switch (kept.kind) {
      case Kind::Value:
      case Kind::Copy:
        return writer_.push(Operand::of(kept.id));
      case Kind::Gradient:
        return writer_.push(Operand::of(gradients_.at(kept.id)));
      case Kind::From:
        return writer_.push(Operand::of(from_));
      case Kind::Size:
        return writer_.push(size(kept.symbol));
    }
  }
  Operand size(const std::string& symbol) {
    if (const std::optional<ValueId> number = number_of(symbol)) return Operand::of(*number);
    const auto number = [](Dim value) { return Operand::of_number(value); };
    return Operand::of(writer_.number(NumberOp::Add, {number(Dim::symbol(symbol)), number(Dim(0))}));
  }

  // ---- Ends ----

  void end(std::size_t b) {
    FlowEnd& end = writer_.block().end;
    if (end.kind == FlowEnd::Kind::Leave && end.exit == exit_) leave(b);
    each_target(end, [&](FlowEnd::Target& target) {
      const FlowBlock& next = flow_.blocks[static_cast<std::size_t>(target.block)];
      for (std::size_t k = 0; k < next.parameters.size(); ++k) {
        if (activity_.is_active(next.parameters[k]))
          target.arguments.push_back(Operand::of(gradient_of(target.arguments[k].value)));
      }
      if (ways(target.block).size() > 1)
        target.arguments.push_back(Operand::of_number(Dim(way_[static_cast<std::size_t>(target.block)])));
      ++way_[static_cast<std::size_t>(target.block)];
    });
  }
  void leave(std::size_t b) {
    std::vector<FlowKept> pushed;
    symbols_.clear();
    const auto gradient = [&](ValueId id) {
      note_views(Operand::of(id));
      note_symbols(flow_.type(activity_.root(id)).sizes);
      push({Kind::Gradient, activity_.root(id)}, pushed);
    };
    const std::vector<Operand>& values = flow_.exits[static_cast<std::size_t>(exit_)].values;
    for (const std::size_t k : asked_.results) gradient(values[k].value);
    for (const ValueId id : asked_.written) gradient(id);
    push_symbols(pushed);
    const auto number = std::find(record_.leaving.begin(), record_.leaving.end(), static_cast<BlockId>(b));
    writer_.push(Operand::of_number(Dim(number - record_.leaving.begin())));
    pushed.push_back({Kind::From});
    record_.leave = std::move(pushed);
  }

  const FlowGraph& flow_;
  const FlowActivity& activity_;
  const FlowGradient& asked_;
  ExitId exit_;
  FlowWriter writer_;
  FlowRecord record_;
  std::map<ValueId, ValueId> gradients_;  // by root
  std::vector<std::int64_t> way_;         // by block: how many of the ways to it are written
  ValueId from_ = Operand::kAbsent;
  // Of the block under way.
  std::vector<FlowKept> ends_;
  std::set<std::string> symbols_;
};

}  // namespace

bool is_differentiated(const FlowActivity& activity, const Node& node) {
  if (node.is_constant() || number_op_of(*node.op) || node.op->has(kStopsGradient)) return false;
  const auto is_active = [&activity](ValueId id) { return activity.is_active(id); };
  // Also a write of what carries no derivative: nothing is left of what was there.
  if (node.writes()) return is_active(node.operands[0].value);
  const bool reads = std::any_of(node.operands.begin(), node.operands.end(),
                                 [&activity](const Operand& each) { return activity.is_active(each); });
  if (!reads || std::none_of(node.outputs.begin(), node.outputs.end(), is_active)) return false;
  return !(node.is_view() && activity.is_in_memory(node.outputs[0]));
}

std::vector<std::size_t> read_operands(const FlowActivity& activity, const Node& node) {
  std::vector<std::size_t> found;
  const Saves saves = saves_of(activity, node);
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    if (has_bit(saves.inputs, i) && node.operands[i].is_value()) found.push_back(i);
  }
  return found;
}

std::vector<std::size_t> read_results(const FlowActivity& activity, const Node& node) {
  std::vector<std::size_t> found;
  const Saves saves = saves_of(activity, node);
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    if (has_bit(saves.outputs, k)) found.push_back(k);
  }
  return found;
}

KeepingFlow keeping(const FlowGraph& flow, const FlowActivity& activity, const FlowGradient& asked,
                    ExitId exit) {
  return Keeping(flow, activity, asked, exit).make();
}

}  // namespace kiln::jit

#include <algorithm>
#include <map>
#include <set>

#include "jit/flow/flow_kept.h"
#include "jit/flow/flow_writer.h"
#include "jit/shape_rules.h"
#include "tensor/core_ops.h"
#include "tensor/functions.h"

namespace kiln::jit {
namespace {

// By block and step: does some gradient come to the step, when gradients come in for all outputs of an exit?
// No other choice of outputs reaches more.
std::vector<std::vector<bool>> reached_steps(const FlowGraph& flow, const FlowActivity& activity,
                                             const FlowMoves& moves, const FlowOutputs& outputs) {
  std::vector<std::vector<bool>> reached;
  for (const FlowBlock& each : flow.blocks) reached.emplace_back(each.steps.size(), false);
  for (const auto& [exit, of_exit] : outputs.by_exit) {
    std::vector<ValueId> given;
    for (const FlowOutput& each : of_exit) given.push_back(value_of(flow, exit, each));
    const FlowReach reach(flow, activity, moves, exit, given);
    for (std::size_t b = 0; b < reached.size(); ++b)
      for (std::size_t k = 0; k < reached[b].size(); ++k)
        for (std::size_t m = 0; m < moves.of_step(b, k).size(); ++m)
          if (reach.of_move(b, k, m).reach != Reach::Never) reached[b][k] = true;
  }
  return reached;
}

class Keeping {
 public:
  Keeping(const FlowGraph& flow, const FlowActivity& activity, const FlowMoves& moves,
          const FlowOutputs& outputs)
      : flow_(flow),
        activity_(activity),
        outputs_(outputs),
        reached_(reached_steps(flow, activity, moves, outputs)),
        writer_(flow) {
    record_.blocks.resize(flow.blocks.size());
    way_.assign(flow.blocks.size(), 0);
    find_ways();
    find_places();
  }

  KeepingFlow make() {
    for (std::size_t b = 0; b < flow_.blocks.size(); ++b) block(b);
    return {std::move(writer_.flow), std::move(record_)};
  }

 private:
  static std::size_t at(std::int64_t id) { return static_cast<std::size_t>(id); }

  void find_ways() {
    for (std::size_t b = 0; b < flow_.blocks.size(); ++b) {
      const auto from = static_cast<BlockId>(b);
      const FlowEnd& end = flow_.blocks[b].end;
      each_target(end, [&](const FlowEnd::Target& target) {
        ways(target.block).push_back({from, &target == &end.other});
      });
      if (end.kind == FlowEnd::Kind::Leave && outputs_.by_exit.contains(end.exit))
        record_.leaving[end.exit].push_back(from);
    }
  }
  std::vector<FlowWayTo>& ways(BlockId block) { return record_.blocks[at(block)].ways; }
  // Sizes that places within them are checked against on the way back are kept with the places.
  void find_places() {
    for (const FlowBlock& block : flow_.blocks) {
      for (const FlowStep& step : block.steps) {
        if (step.node.is_constant()) continue;
        const auto number = number_op_of(*step.node.op);
        if (number != NumberOp::Index && number != NumberOp::SliceBound) continue;
        const Operand& size = step.node.operands[1];
        if (size.is_number())
          record_.places[symbol_of(step.node.outputs[0])] = {*number, std::get<Dim>(size.number)};
      }
    }
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
    if (kept.ways.size() > 1) from_ = writer_.parameter(number_type(DType::I64), 0);
    if (b == 0 && !outputs_.flags.empty()) begin_flags();
    for (std::size_t k = 0; k < source.steps.size(); ++k) step(b, k);
    for (const KeptItem& each : ends_) push(each, kept.end);
    for (const std::string& each : symbols_) push({KeptItem::Kind::Size, Operand::kAbsent, each}, kept.end);
    if (kept.ways.size() > 1) push({KeptItem::Kind::From}, kept.end);
    end(b);
  }

  void begin_flags() {
    FlowStep step;
    step.node.constant = ops::zeros(Dims{Dim(outputs_.flags.size())}, DType::Bool, Device{});
    flags_ = writer_.add(std::move(step))[0];
    for (const auto& [exit, outputs] : outputs_.by_exit)
      writer_.flow.exits[at(exit)].values.push_back(Operand::of(flags_));
  }

  // ---- Steps ----

  void step(std::size_t b, std::size_t k) {
    const FlowStep& step = flow_.blocks[b].steps[k];
    FlowKeptBlock& kept = record_.blocks[b];
    const Node& node = step.node;
    const bool counts = is_differentiated(activity_, node) && reached_[b][k];
    if (counts) {
      for (const std::size_t i : read_operands(activity_, node)) keep(node.operands[i].value, kept.before[k]);
    }
    writer_.block().steps.push_back(step);
    set_flag(b, k);
    if (counts) {
      for (const std::size_t i : read_results(activity_, node)) keep(node.outputs[i], kept.after[k]);
    }
    note_symbols(node);
  }
  void set_flag(std::size_t b, std::size_t k) {
    for (std::size_t f = 0; f < outputs_.flags.size(); ++f) {
      if (outputs_.flags[f].block != b || outputs_.flags[f].step != k) continue;
      const ValueId flag = writer_.element(flags_, static_cast<std::int64_t>(f));
      writer_.apply(core_ops().copy, {Operand::of(flag), Operand::of_number(true)}, Node{}, Form::Write);
    }
  }

  // The elements that a value has now. What stays as it is is kept once for the block.
  void keep(ValueId id, std::vector<KeptItem>& here) {
    const Type& type = flow_.type(id);
    if (is_given(flow_, activity_, id)) return note_views(id);
    const bool stays = type.is_number || !activity_.is_written(id);
    note_symbols(type.sizes);
    if (stays) return at_end(id);
    push({KeptItem::Kind::Value, id}, here);
  }
  void at_end(ValueId id) {
    const bool is_there =
        std::any_of(ends_.begin(), ends_.end(), [&](const KeptItem& each) { return each.id == id; });
    if (!is_there) ends_.push_back({KeptItem::Kind::Value, id});
  }

  // ---- Symbols ----

  void note(const std::set<std::string>& symbols) {
    for (const std::string& each : symbols) {
      if (is_of_inputs(flow_, each) || !symbols_.insert(each).second) continue;
      const auto place = record_.places.find(each);
      if (place != record_.places.end()) note_symbols(Dims{place->second.size});
    }
  }
  void note_symbols(const Dims& sizes) {
    std::set<std::string> symbols;
    for (const Dim each : sizes) kiln::collect_symbols(each, symbols);
    note(symbols);
  }
  void note_attrs(const std::vector<Attr>& attrs) {
    std::set<std::string> symbols;
    collect_symbols(attrs, symbols);
    note(symbols);
  }
  // Gradients of views are added through the views again.
  void note_views(ValueId id) {
    for (const Node* view = activity_.view(id); view != nullptr;
         view = activity_.view(view->operands[0].value))
      note_attrs(view->attrs);
  }
  void note_symbols(const Node& node) {
    if (node.is_constant() || !activity_.is_recorded(node)) return;
    note_attrs(node.attrs);
    const auto note_tensor = [this](ValueId id) {
      if (flow_.type(id).is_number) return;
      note_symbols(flow_.type(id).sizes);
      note_views(id);
    };
    for (const Operand& each : node.operands) {
      if (each.is_value()) note_tensor(each.value);
      const Dim* size = each.is_number() ? std::get_if<Dim>(&each.number) : nullptr;
      if (size != nullptr) note_symbols(Dims{*size});
    }
    for (const ValueId id : node.outputs) note_tensor(id);
  }

  void push(const KeptItem& kept, std::vector<KeptItem>& into) {
    into.push_back(kept);
    switch (kept.kind) {
      case KeptItem::Kind::Value:
        return writer_.push(Operand::of(kept.id));
      case KeptItem::Kind::From:
        return writer_.push(Operand::of(from_));
      case KeptItem::Kind::Size:
        return writer_.push(Operand::of(*number_of(kept.symbol)));
    }
  }

  // ---- Ends ----

  void end(std::size_t b) {
    FlowEnd& end = writer_.block().end;
    const auto leaving = record_.leaving.find(end.exit);
    if (end.kind == FlowEnd::Kind::Leave && leaving != record_.leaving.end()) {
      const std::vector<BlockId>& from = leaving->second;
      const auto number = std::find(from.begin(), from.end(), static_cast<BlockId>(b)) - from.begin();
      writer_.push(Operand::of_number(Dim(number)));
    }
    each_target(writer_.block().end, [&](FlowEnd::Target& target) {
      if (ways(target.block).size() < 2) return;
      target.arguments.push_back(Operand::of_number(Dim(way_[at(target.block)]++)));
    });
  }

  const FlowGraph& flow_;
  const FlowActivity& activity_;
  const FlowOutputs& outputs_;
  const std::vector<std::vector<bool>> reached_;
  FlowWriter writer_;
  FlowRecord record_;
  std::vector<std::int64_t> way_;  // by block: how many of the ways to it are written
  ValueId from_ = Operand::kAbsent, flags_ = Operand::kAbsent;
  // Of the block under way.
  std::vector<KeptItem> ends_;
  std::set<std::string> symbols_;
};

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

}  // namespace

bool is_given(const FlowGraph& flow, const FlowActivity& activity, ValueId id) {
  const auto root = static_cast<std::size_t>(flow.type(id).is_number ? id : activity.root(id));
  return root < flow.inputs.size() && (flow.type(id).is_number || !activity.is_written(id));
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

KeepingFlow keeping(const FlowGraph& flow, const FlowActivity& activity, const FlowMoves& moves,
                    const FlowOutputs& outputs) {
  return Keeping(flow, activity, moves, outputs).make();
}

}  // namespace kiln::jit

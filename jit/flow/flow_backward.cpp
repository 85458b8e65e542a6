#include "jit/flow/flow_block_back.h"
#include "tensor/core_ops.h"

namespace kiln::jit {
namespace {

constexpr ExitId kDone = 0, kOtherSizes = 1, kInterrupted = 2;

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
    BlockBack back_from(writer_, flow_, activity_, kOtherSizes);
    back_from.pop(record_.leave);
    const std::vector<Operand>& values = flow_.exits[static_cast<std::size_t>(exit_)].values;
    ValueId next = 0;
    const auto add = [&](ValueId id) {
      writer_.apply(core_ops().add, {Operand::of(back_from.gradient(id)), Operand::of(next++)}, Node{},
                    Form::Write);
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
    BlockBack back_through(writer_, flow_, activity_, kOtherSizes);
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

#include <fmt/format.h>

#include "jit/flow/flow_block_back.h"

namespace kiln::jit {
namespace {

constexpr ExitId kDone = 0, kOtherSizes = 1, kInterrupted = 2;

std::vector<ValueId> tensors_given(const FlowWay& way, ExitId exit, const std::vector<FlowOutput>& outputs,
                                   const std::vector<bool>& given) {
  std::vector<ValueId> tensors;
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (given[k]) tensors.push_back(way.activity.tensor(value_of(way.flow, exit, outputs[k])));
  return tensors;
}

class FlowBackwards {
 public:
  FlowBackwards(const FlowWay& way, ExitId exit, const std::vector<FlowOutput>& outputs,
                const std::vector<bool>& given)
      : way_(way),
        exit_(exit),
        reach_(way.flow, way.activity, way.moves, exit, tensors_given(way, exit, outputs, given)),
        gradients_(writer_, made_, way, reach_) {
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (given[k]) given_.emplace_back(k, way.activity.tensor(value_of(way.flow, exit, outputs[k])));
    if (const auto tensor = reach_.reordered()) {
      const std::string& name = way.flow.values[at(*tensor)].name;
      throw OpError(ErrorKind::Capture,
                    fmt::format("{} is given to another variable more than once, under whose name it is read",
                                name.empty() ? "a tensor" : "`" + name + "`"));
    }
  }

  FlowBackward make() {
    writer_.flow.name = way_.flow.name + " backwards";
    writer_.flow.exits.resize(3);
    writer_.flow.exits[kDone].reason = "all gradients are known";
    writer_.flow.exits[kOtherSizes].reason = "a derivative depends on sizes that differ";
    writer_.flow.exits[kInterrupted].reason = "it was interrupted";
    writer_.failing = kOtherSizes;
    gradients_.add_inputs(given_);
    for (std::size_t b = 0; b <= way_.flow.blocks.size(); ++b) writer_.begin_block();
    begin();
    for (std::size_t b = 0; b < way_.flow.blocks.size(); ++b) block(b);
    made_.graph = std::move(writer_.flow);
    return std::move(made_);
  }

 private:
  static std::size_t at(BlockId id) { return static_cast<std::size_t>(id); }
  // The block in which that one is gone through backwards.
  static BlockId back(BlockId block) { return block + 1; }

  void begin() {
    writer_.go_on_in(0);
    gradients_.begin();
    const ValueId from = writer_.pop(number_type(DType::I64), 0);
    const std::vector<BlockId>& leaving = way_.record.leaving.at(exit_);
    choose(leaving.size(), Operand::of(from), [&](std::size_t k) { jump(leaving[k]); });
  }

  // Ends the block under way: one of so many ways on, by its number. `take` writes what is done on it.
  template <class F>
  void choose(std::size_t ways, const Operand& number, const F& take) {
    if (ways == 0) {
      writer_.block().end.exit = kOtherSizes;  // nothing leads here
      return;
    }
    for (std::size_t k = 0; k + 1 < ways; ++k) {
      const Operand own = Operand::of_number(Dim(static_cast<std::int64_t>(k)));
      const ValueId is_this = writer_.number(NumberOp::Equal, {number, own});
      const BlockId here = writer_.at();
      const BlockId then = writer_.begin_block(), other = writer_.begin_block();
      FlowEnd& end = writer_.flow.blocks[at(here)].end;
      end.kind = FlowEnd::Kind::Branch;
      end.condition = Operand::of(is_this);
      end.then = {then, {}};
      end.other = {other, {}};
      writer_.go_on_in(then);
      take(k);
      writer_.go_on_in(other);
    }
    take(ways - 1);
  }
  void jump(BlockId to) {
    FlowEnd& end = writer_.block().end;
    end.kind = FlowEnd::Kind::Jump;
    end.then = {back(to), {}};
  }

  void block(std::size_t b) {
    const FlowBlock& source = way_.flow.blocks[b];
    writer_.go_on_in(back(static_cast<BlockId>(b)));
    if (source.begins_loop) {
      writer_.block().begins_loop = true;
      writer_.block().interrupted = kInterrupted;
    }
    BlockBack through(writer_, way_, reach_, gradients_, b, kOtherSizes);
    through.run();
    if (b == 0) {
      gradients_.finish(kDone);
      writer_.block().end.exit = kDone;
      return;
    }
    const std::vector<FlowWayTo>& ways = way_.record.blocks[b].ways;
    choose(ways.size(), through.from(), [&](std::size_t k) {
      const FlowEnd& end = way_.flow.blocks[at(ways[k].from)].end;
      move(b, ways[k].is_other ? end.other : end.then);
      jump(ways[k].from);
    });
  }

  // ---- Parameters ----

  // The gradients of parameters go to the arguments that they were given. All are taken before any is given
  // on, since a parameter may be the argument of another.
  void move(std::size_t b, const FlowEnd::Target& target) {
    const std::vector<ValueId>& parameters = way_.flow.blocks[b].parameters;
    std::vector<std::pair<ValueId, ArrivedGradient>> moved;
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      if (reach_.of_parameter(b, parameters[k]) == Reach::Never) continue;
      const ValueId given = way_.activity.tensor(target.arguments[k].value);
      if (given != parameters[k]) moved.emplace_back(given, gradients_.take(parameters[k], Node{}));
    }
    for (const auto& [given, arrived] : moved)
      if (way_.activity.is_active(given)) gradients_.add(given, arrived, Node{});
  }

  const FlowWay& way_;
  ExitId exit_;
  FlowReach reach_;
  FlowBackward made_;
  FlowWriter writer_;
  FlowGradients gradients_;
  FlowGradients::Outputs given_;
};

}  // namespace

std::optional<FlowBackward> backwards(const FlowWay& way, ExitId exit, const std::vector<FlowOutput>& outputs,
                                      const std::vector<bool>& given) {
  try {
    return FlowBackwards(way, exit, outputs, given).make();
  } catch (const UnknownReach&) {
    return std::nullopt;
  }
}

}  // namespace kiln::jit

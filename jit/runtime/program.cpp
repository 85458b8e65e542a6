#include "jit/runtime/program.h"

#include <algorithm>
#include <map>

#include "jit/cpu/elementwise_kernel.h"
#include "jit/graph/collectives.h"
#include "jit/graph/custom.h"
#include "jit/graph/lifetimes.h"
#include "jit/runtime/program_order.h"
#include "tensor/integers.h"

namespace kiln::jit {
namespace {

using Instruction = Program::Instruction;
using Kind = Instruction::Kind;

std::uint32_t narrow(std::size_t n) { return static_cast<std::uint32_t>(n); }
Range range(std::size_t begin, std::size_t end) { return {narrow(begin), narrow(end)}; }

// When a node runs: by its turn in the order, and kInLaunch for all of the launch.
constexpr int kInLaunch = Lifetimes::kAfterNodes - 1;

std::vector<int> times_of(const ProgramOrder& order) {
  std::vector<int> when(order.nodes.size());
  for (std::size_t turn = 0; turn < order.nodes.size(); ++turn) {
    when[static_cast<std::size_t>(order.nodes[turn])] =
        turn < order.launch ? static_cast<int>(turn) : kInLaunch;
  }
  return when;
}

// Values that the caller may get hold of, or some node writes to: what is the same in every call must not be
// among them.
std::vector<bool> exposed_values(const Graph& graph, const EscapeAnalysis& escapes) {
  std::vector<ValueId> written;
  for (const Node& node : graph.nodes) {
    if (node.writes() && !graph.is_functional()) written.push_back(node.operands[0].value);
  }
  std::vector<bool> exposed(graph.values.size());
  for (std::size_t i = 0; i < exposed.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    exposed[i] = escapes.is_reachable(id) || std::any_of(written.begin(), written.end(), [&](ValueId each) {
                   return escapes.may_share_memory(id, each);
                 });
  }
  return exposed;
}

// ---- Which programs may be bound ----

// Results of known sizes; no effects but what kernels may write over arguments; only views follow symbols.
bool may_be_repeated(const Program& program, const Instruction& each) {
  if (each.kind == Kind::TakeView) return true;
  if (each.kind != Kind::RunKernel && each.kind != Kind::CallOp) return false;
  // What shares an operand's memory here and there may be kept by somebody.
  const bool is_fresh =
      each.node->form == Form::Write ? !each.node->writes_metadata() : !may_share_operand(*each.node);
  return is_fresh && !follows_symbols(program, each);
}
bool may_be_bound(const Graph& graph, const Program& program) {
  // What is filled in are addresses of the host's memory.
  const auto is_known = [](const Value& each) {
    return !has_symbols(each.type.sizes) && is_on_host(each.type.device);
  };
  const auto is_over = [](const Program::EffectInstruction& each) {
    return each.kind == Effect::Kind::Write && each.may_be_over && each.target.table == Table::Argument;
  };
  // What was begun may still read memory of a call that was cut off.
  return program.finish > 0 && program.views.empty() && !has_collectives(graph) &&
         std::ranges::all_of(program.effects, is_over) && std::ranges::all_of(graph.values, is_known) &&
         std::ranges::none_of(program.outputs, &Program::Output::is_number) &&
         std::ranges::all_of(program.computing(),
                             [&](const Instruction& each) { return may_be_repeated(program, each); });
}

// ---- Instructions ----

class Maker {
 public:
  Maker(const Graph& graph, bool takes_arguments)
      : graph_(graph),
        escapes_(graph),
        order_(order_of(graph, escapes_)),
        lifetimes_(graph, times_of(order_)),
        exposed_(exposed_values(graph, escapes_)),
        sources_(graph.values.size()),
        producers_(graph.producers()) {
    program_.graph_values = graph.values;
    program_.takes_arguments = takes_arguments;
    program_.frame_size = narrow(graph.values.size());
    program_.buffers.resize(graph.values.size());
    for (ValueId id = 0; as_index(id) < graph.values.size(); ++id) {
      sources_[as_index(id)] = {Table::Frame, narrow(as_index(id))};
      program_.buffer_of.push_back(lifetimes_.shown(id));
      program_.buffers[as_index(id)].leaves = lifetimes_.last_read(id) == Lifetimes::kAfterNodes;
    }
  }

  Program run() {
    inputs();
    for (std::size_t turn = 0; turn < order_.nodes.size(); ++turn) {
      if (turn == order_.launch) program_.launch = program_.instructions.size();
      node(turn);
    }
    program_.finish = program_.instructions.size();
    if (order_.launch == order_.nodes.size()) program_.launch = program_.finish;
    for (const bool elements : {true, false}) {
      for (const Effect& each : graph_.effects) {
        if ((each.kind == Effect::Kind::Write) == elements) effect(each);
      }
    }
    for (const Operand& each : graph_.outputs) output(each);
    program_.became_size = narrow(became_.size());
    program_.may_be_bound = may_be_bound(graph_, program_);
    return std::move(program_);
  }

 private:
  bool is_exposed(ValueId id) const { return exposed_[as_index(id)]; }
  int when(std::size_t turn) const { return turn < order_.launch ? static_cast<int>(turn) : kInLaunch; }

  // Adds it after all others, which it is the last of to read or make its buffers.
  void add(Instruction instruction) {
    const std::uint32_t place = narrow(program_.instructions.size());
    for (const std::uint32_t id : program_.of(instruction.results)) {
      if (id >= program_.buffer_of.size()) continue;
      Program::Buffer& buffer = program_.buffers[as_index(program_.buffer_of[id])];
      if (program_.buffer_of[id] == static_cast<ValueId>(id)) {
        buffer.is_ours = true;
        buffer.made = place;
      }
      buffer.dies = place;
    }
    if (instruction.node != nullptr) {
      for (const Operand& each : instruction.node->operands) {
        if (each.is_value())
          program_.buffers[as_index(program_.buffer_of[as_index(each.value)])].dies = place;
      }
    }
    program_.instructions.push_back(instruction);
  }
  Range operands(const std::vector<Source>& sources) {
    const std::size_t begin = program_.operands.size();
    program_.operands.insert(program_.operands.end(), sources.begin(), sources.end());
    return range(begin, program_.operands.size());
  }
  Range values(const std::vector<ValueId>& ids) {
    const std::size_t begin = program_.values.size();
    for (const ValueId id : ids) program_.values.push_back(narrow(as_index(id)));
    return range(begin, program_.values.size());
  }
  std::uint32_t application(const Op& op, const std::vector<Attr>& attrs) {
    program_.applications.push_back({&op, attrs});
    return narrow(program_.applications.size()) - 1;
  }
  Source prebuilt(Program::Prebuilt item) {
    program_.prebuilt.push_back(std::move(item));
    return {Table::Prebuilt, narrow(program_.prebuilt.size()) - 1};
  }

  void inputs() {
    const std::vector<int> arguments = graph_.arguments();
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      program_.buffers[i].is_ours = program_.takes_arguments;
      if (program_.takes_arguments) continue;  // these are moved into the frame
      if (arguments[i] >= 0) {
        sources_[i] = {Table::Argument, static_cast<std::uint32_t>(arguments[i])};
        continue;
      }
      Instruction base;
      base.kind = Kind::TakeBase;
      base.attrs = narrow(program_.bases.size());
      program_.bases.push_back(graph_.values[i].type);
      base.operands = operands({{Table::Argument, static_cast<std::uint32_t>(graph_.inputs[i].members[0])}});
      base.results = values({static_cast<ValueId>(i)});
      add(base);
      program_.buffers[i].is_ours = false;
    }
  }

  Kind kind_of(const Node& node) const {
    if (node.writes() && !graph_.is_functional()) return Kind::WriteOp;
    if (node.form == Form::Copy) return Kind::CopyView;
    if (as_kernel(*node.op) != nullptr) return Kind::RunKernel;
    if (custom_function(*node.op) != nullptr) return Kind::CallBack;
    return node.is_view() ? Kind::TakeView : Kind::CallOp;
  }

  void node(std::size_t turn) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(order_.nodes[turn])];
    if (node.is_constant()) return constant(node);
    std::vector<ValueId> numbers;  // of this instruction's own
    std::vector<Source> sources;
    for (const Operand& each : node.operands) sources.push_back(operand(node, each, numbers));
    Instruction instruction;
    instruction.kind = kind_of(node);
    instruction.node = &node;
    instruction.op = node.op;
    instruction.attrs = application(*node.op, node.attrs);
    instruction.operands = operands(sources);
    instruction.results = values(node.outputs);
    instruction.last_read = last_read(node, turn, std::move(numbers));
    const ElementwiseKernel* const kernel = elementwise_kernel_of(*node.op);
    if (kernel != nullptr && kernel->is_plain()) instruction.kernel = kernel;
    instruction.feeds_next = order_.feeds_next[turn];
    if (turn > 0 && order_.feeds_next[turn - 1]) {
      const std::vector<std::uint32_t>& all = program_.values;
      const std::uint32_t made = all[program_.instructions.back().results.begin];
      const auto found = std::ranges::find(sources, Source{Table::Frame, made});
      instruction.made = narrow(static_cast<std::size_t>(found - sources.begin()));
    } else {
      instruction.over = over(instruction, turn);
    }
    add(instruction);
  }
  Source operand(const Node& node, const Operand& operand, std::vector<ValueId>& numbers) {
    if (operand.is_value()) return sources_[as_index(operand.value)];
    const Source source = prebuilt({operand, {}});
    if (!operand.is_number() || !may_share_operand(node) || !is_exposed(node.outputs[0])) return source;
    numbers.push_back(static_cast<ValueId>(program_.frame_size++));
    return fresh(Kind::NewNumber, node, source, numbers.back());
  }

  void constant(const Node& node) {
    const ValueId id = node.outputs[0];
    const Source source = prebuilt({{}, node.constant});
    sources_[as_index(id)] = is_exposed(id) ? fresh(Kind::NewConstant, node, source, id) : source;
  }
  Source fresh(Kind kind, const Node& node, Source of, ValueId id) {
    Instruction instruction;
    instruction.kind = kind;
    instruction.node = &node;
    instruction.operands = operands({of});
    instruction.results = values({id});
    add(instruction);
    return {Table::Frame, narrow(as_index(id))};
  }

  // What this node reads for the last time, and those of its results that nobody reads.
  Range last_read(const Node& node, std::size_t turn, std::vector<ValueId> ended) {
    const auto ends = [&](ValueId id) {
      if (sources_[as_index(id)].table == Table::Frame && std::ranges::find(ended, id) == ended.end())
        ended.push_back(id);
    };
    for (const Operand& each : node.operands) {
      if (each.is_value() && when(turn) != kInLaunch && lifetimes_.last_use(each.value) == when(turn))
        ends(each.value);
    }
    for (const ValueId id : node.outputs) {
      if (lifetimes_.last_use(id) == Lifetimes::kNever) ends(id);
    }
    return values(ended);
  }

  // ---- Over what results are computed ----

  // Of what the graph says is written over its first operand: that one. Of a kernel, for each output the
  // input that it becomes, or an operand of its type of whose memory nothing is read later.
  Range over(const Instruction& instruction, std::size_t turn) {
    const Node& node = *instruction.node;
    const std::size_t begin = program_.over.size();
    if (node.writes() && graph_.is_functional()) {
      const Source first = sources_[as_index(node.operands[0].value)];
      if (first.table == Table::Frame) program_.over.push_back(first);
    } else if (instruction.kernel != nullptr) {
      std::vector<bool> taken(node.operands.size(), false);
      for (const ValueId id : node.outputs) program_.over.push_back(over(node, turn, id, taken));
    }
    return range(begin, program_.over.size());
  }
  std::optional<Source> over(const Node& node, std::size_t turn, ValueId result, std::vector<bool>& taken) {
    const ValueId input = order_.over[as_index(result)];
    std::size_t k = 0;
    while (k < taken.size() && (taken[k] || !ends_alike(node.operands[k], turn, result))) ++k;
    if (input != Operand::kAbsent) return sources_[as_index(input)];
    if (k == taken.size()) return std::nullopt;
    taken[k] = true;
    return sources_[as_index(node.operands[k].value)];
  }
  bool ends_alike(const Operand& operand, std::size_t turn, ValueId result) const {
    return operand.is_value() && sources_[as_index(operand.value)].table == Table::Frame &&
           lifetimes_.ends_with(operand.value, when(turn)) &&
           graph_.values[as_index(operand.value)].type == graph_.values[as_index(result)].type;
  }

  // ---- After the nodes ----

  Source target(const Effect& effect) const {
    if (effect.member < 0) return sources_[as_index(effect.input)];
    const Input& input = graph_.inputs[as_index(effect.input)];
    const int argument = input.members[static_cast<std::size_t>(effect.member)];
    return {Table::Argument, static_cast<std::uint32_t>(argument)};
  }
  std::uint32_t became(ValueId id) { return became_.try_emplace(id, narrow(became_.size())).first->second; }

  void effect(const Effect& effect) {
    Program::EffectInstruction made;
    made.kind = effect.kind;
    made.effect = &effect;
    made.target = target(effect);
    made.value = effect.kind == Effect::Kind::Set ? now(effect.value) : sources_[as_index(effect.value)];
    // What is put into a part of an argument is not that part: it lies where it was made, too.
    const ValueId part = -2 - static_cast<ValueId>(program_.effects.size());  // stands for no value
    made.became = became(graph_.is_input(effect.input) ? effect.value : part);
    made.may_be_over = order_.over[as_index(effect.value)] == effect.input;
    if (effect.kind == Effect::Kind::Layout) {
      made.layout = effect.layout;
      made.attrs = application(*effect.layout, effect.attrs);
    }
    program_.effects.push_back(made);
    finish(Kind::DoEffect, program_.effects.size() - 1);
  }
  void finish(Kind kind, std::size_t which) {
    Instruction instruction;
    instruction.kind = kind;
    instruction.attrs = narrow(which);
    program_.instructions.push_back(instruction);
  }

  // Where a value is when the effects are done.
  Source now(ValueId id) {
    const auto found = became_.find(id);
    if (found != became_.end()) return {Table::Became, found->second};
    const int place = producers_[as_index(id)];
    if (place < 0 || became_.empty()) return sources_[as_index(id)];
    const Node& node = graph_.nodes[static_cast<std::size_t>(place)];
    if (!node.is_view()) return sources_[as_index(id)];
    const Source source = now(node.operands[0].value);
    if (source.table != Table::Became) return sources_[as_index(id)];
    Program::ViewInstruction view{node.op, application(*node.op, node.attrs), source.index, {}};
    for (const ValueId each : node.outputs) {
      view.results.push_back(became_.contains(each) ? -1 : static_cast<std::int32_t>(became(each)));
    }
    program_.views.push_back(std::move(view));
    finish(Kind::RetakeView, program_.views.size() - 1);
    return {Table::Became, became(id)};
  }

  void output(const Operand& operand) {
    const bool is_number = operand.is_number();
    program_.outputs.push_back(
        {is_number, operand.is_value() ? now(operand.value) : prebuilt({operand, {}})});
  }

  const Graph& graph_;
  const EscapeAnalysis escapes_;
  const ProgramOrder order_;
  const Lifetimes lifetimes_;
  const std::vector<bool> exposed_;
  Program program_;
  std::vector<Source> sources_;  // by value
  const std::vector<int> producers_;
  std::map<ValueId, std::uint32_t> became_;
};

}  // namespace

Program make_program(const Graph& graph, bool takes_arguments) { return Maker(graph, takes_arguments).run(); }

}  // namespace kiln::jit

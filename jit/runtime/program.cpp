#include "jit/runtime/program.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "jit/cpu/elementwise_kernel.h"
#include "jit/cpu/epilogue.h"

namespace kiln::jit {
namespace {

// Values that the caller may get hold of, or some node writes to: what is the same in every call must not be
// among them.
std::vector<bool> exposed_values(const Graph& graph, const EscapeAnalysis& exposure) {
  std::vector<ValueId> written;
  for (const Node& node : graph.nodes) {
    if (node.writes() && !graph.is_functional()) written.push_back(node.operands[0].value);
  }
  std::vector<bool> exposed(graph.values.size());
  for (std::size_t i = 0; i < exposed.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    exposed[i] = exposure.is_reachable(id) || std::any_of(written.begin(), written.end(), [&](ValueId each) {
                   return exposure.may_share_memory(id, each);
                 });
  }
  return exposed;
}

constexpr int kAfterSteps = std::numeric_limits<int>::max();
constexpr int kInLaunch = kAfterSteps - 1;

class Planner {
  using Instruction = Program::Instruction;
  using EffectInstruction = Program::EffectInstruction;
  using ViewInstruction = Program::ViewInstruction;

 public:
  explicit Planner(const Graph& graph) : graph_(graph), sources_(graph.values.size()) {
    const EscapeAnalysis exposure(graph);
    exposed_ = exposed_values(graph, exposure);
    late_ = find_tail_kernels(graph, exposure);
    product_of_ = find_epilogues(graph, late_);
    when_.resize(graph.nodes.size());
    std::iota(when_.begin(), when_.end(), 0);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (late_.kernels[i] != nullptr) when_[i] = kInLaunch;
      if (product_of_[i] >= 0) when_[static_cast<std::size_t>(product_of_[i])] = static_cast<int>(i);
    }
    producers_ = graph.producers();
    find_last_reads();
  }

  Program run(bool takes_arguments) {
    if (takes_arguments) {
      take_inputs();
    } else {
      inputs();
    }
    for (const bool late : {false, true}) {
      if (late) program_.launch = program_.instructions.size();
      for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
        const bool has_own_turn = late_.kernels[i] != nullptr || when_[i] == static_cast<int>(i);
        if (has_own_turn && (late_.kernels[i] != nullptr) == late) node(static_cast<int>(i));
      }
    }
    for (const bool elements : {true, false}) {
      for (const Effect& each : graph_.effects) {
        if ((each.kind == Effect::Kind::Write) == elements) effect(each);
      }
    }
    for (const Operand& each : graph_.outputs) output(each);
    program_.became_size = static_cast<std::uint32_t>(became_.size());
    return std::move(program_);
  }

 private:
  bool is_exposed(ValueId id) const { return exposed_[static_cast<std::size_t>(id)]; }

  // ---- Lifetimes ----

  void find_last_reads() {
    last_read_.assign(graph_.values.size(), -1);
    const auto read = [this](const Operand& each, int when) {
      if (each.is_value()) last_read_[static_cast<std::size_t>(each.value)] = when;
    };
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const Operand& each : graph_.nodes[i].operands) {
        if (each.is_value() && last_read_[static_cast<std::size_t>(each.value)] < when_[i])
          read(each, when_[i]);
      }
    }
    late_readers_.assign(graph_.values.size(), 0);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (late_.kernels[i] == nullptr) continue;
      const std::vector<Operand>& operands = graph_.nodes[i].operands;
      for (auto each = operands.begin(); each != operands.end(); ++each) {
        const bool is_first = std::find(operands.begin(), each, *each) == each;
        if (each->is_value() && is_first) ++late_readers_[static_cast<std::size_t>(each->value)];
      }
    }
    for (const Effect& each : graph_.effects) {
      read(Operand::of(each.value), kAfterSteps);
      read(Operand::of(each.input), kAfterSteps);
    }
    for (const Operand& each : graph_.outputs) read(each, kAfterSteps);
  }

  std::uint32_t new_slot() {
    if (free_.empty()) return program_.frame_size++;
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  Range slots_since(std::size_t begin) const { return range(begin, program_.slots.size()); }
  static Range range(std::size_t begin, std::size_t end) {
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
  }
  Source& at(ValueId id) { return sources_[static_cast<std::size_t>(id)]; }

  Source result(ValueId id) {
    const Source source{Table::Frame, new_slot()};
    program_.slots.push_back(source.index);
    if (id >= 0) at(id) = source;
    return source;
  }

  // ---- Steps ----

  void take_inputs() {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      at(static_cast<ValueId>(i)) = {Table::Frame, new_slot()};
      program_.taken.push_back(at(static_cast<ValueId>(i)).index);
    }
  }

  void inputs() {
    const std::vector<int> arguments = graph_.arguments();
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      if (arguments[i] >= 0) {
        at(id) = {Table::Argument, static_cast<std::uint32_t>(arguments[i])};
        continue;
      }
      Instruction instruction;
      instruction.kind = Instruction::Kind::Base;
      instruction.attrs = static_cast<std::uint32_t>(program_.bases.size());
      program_.bases.push_back(graph_.values[i].type);
      instruction.operands =
          operands({{Table::Argument, static_cast<std::uint32_t>(graph_.inputs[i].members[0])}});
      const std::size_t first = program_.slots.size();
      result(id);
      instruction.results = slots_since(first);
      program_.instructions.push_back(instruction);
    }
  }

  Range operands(std::initializer_list<Source> sources) {
    const std::size_t begin = program_.operands.size();
    program_.operands.insert(program_.operands.end(), sources);
    return range(begin, program_.operands.size());
  }

  std::uint32_t application(const Op& op, const std::vector<GraphAttr>& attrs) {
    program_.applications.push_back({&op, attrs});
    return static_cast<std::uint32_t>(program_.applications.size()) - 1;
  }

  Source prebuilt(Program::Prebuilt item) {
    program_.prebuilt.push_back(std::move(item));
    return {Table::Prebuilt, static_cast<std::uint32_t>(program_.prebuilt.size()) - 1};
  }

  void node(int place) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(place)];
    if (node.is_constant()) return constant(place, node);
    const int product = product_of_[static_cast<std::size_t>(place)];
    if (product >= 0) {
      this->node(product);
      program_.products.push_back(program_.instructions.back());
      program_.instructions.pop_back();
    }
    std::vector<Source> sources;
    std::vector<std::uint32_t> numbers;  // slots of numbers of this instruction's own
    for (const Operand& each : node.operands) {
      if (each.is_value()) {
        sources.push_back(at(each.value));
        continue;
      }
      Source source = prebuilt({each, {}});
      if (each.is_number() && may_share_operand(node) && is_exposed(node.outputs[0])) {
        source = fresh(Instruction::Kind::FreshNumber, place, source, -1);
        numbers.push_back(source.index);
      }
      sources.push_back(source);
    }
    Instruction instruction;
    const bool writes = node.writes() && !graph_.is_functional();
    instruction.kind = writes                    ? Instruction::Kind::Write
                       : node.form == Form::Copy ? Instruction::Kind::Copy
                                                 : Instruction::Kind::Apply;
    instruction.may_overwrite = node.writes() && !writes && at(node.operands[0].value).table == Table::Frame;
    instruction.node = &graph_.nodes[static_cast<std::size_t>(place)];
    instruction.op = node.op;
    instruction.attrs = application(*node.op, node.attrs);
    const std::size_t first_operand = program_.operands.size(), first_result = program_.slots.size();
    program_.operands.insert(program_.operands.end(), sources.begin(), sources.end());
    instruction.operands = range(first_operand, program_.operands.size());
    for (const ValueId id : node.outputs) result(id);
    instruction.results = slots_since(first_result);
    instruction.last_read = release(place, node, numbers);
    as_kernel(instruction, place);
    program_.instructions.push_back(instruction);
  }

  // Where it runs, if not alone: with the product before it, or in the launch.
  void as_kernel(Instruction& instruction, int place) {
    const Node& node = *instruction.node;
    const int product = product_of_[static_cast<std::size_t>(place)];
    if (product >= 0) {
      const Operand made = Operand::of(graph_.nodes[static_cast<std::size_t>(product)].outputs[0]);
      const auto found = std::find(node.operands.begin(), node.operands.end(), made);
      instruction.product = static_cast<std::int32_t>(program_.products.size()) - 1;
      instruction.made = static_cast<std::uint32_t>(found - node.operands.begin());
      instruction.kernel = elementwise_kernel_of(*node.op);
    } else if (const ElementwiseKernel* const kernel = elementwise_kernel_of(*node.op);
               kernel != nullptr && kernel->is_plain()) {
      instruction.kernel = kernel;
      instruction.over = written_over(place, node);
    }
  }
  // For each output the input that it becomes, or an operand of its type that nothing reads later.
  Range written_over(int place, const Node& node) {
    const std::size_t begin = program_.over.size();
    std::vector<bool> taken(node.operands.size(), false);
    for (const ValueId id : node.outputs) {
      const ValueId input = late_.over[static_cast<std::size_t>(id)];
      std::size_t k = 0;
      while (k < taken.size() && (taken[k] || !may_go_over(place, node.operands[k], id))) ++k;
      if (input != Operand::kAbsent) {
        program_.over.push_back(at(input));
      } else if (k < taken.size()) {
        program_.over.push_back(at(node.operands[k].value));
        taken[k] = true;
      } else {
        program_.over.push_back(std::nullopt);
      }
    }
    return range(begin, program_.over.size());
  }
  bool may_go_over(int place, const Operand& operand, ValueId output) {
    if (!operand.is_value() || at(operand.value).table != Table::Frame) return false;
    const auto id = static_cast<std::size_t>(operand.value);
    const bool alone = late_.kernels[static_cast<std::size_t>(place)] == nullptr || late_readers_[id] == 1;
    return alone && last_read_[id] == when_[static_cast<std::size_t>(place)] &&
           graph_.values[id].type == graph_.values[static_cast<std::size_t>(output)].type;
  }

  void constant(int place, const Node& node) {
    const ValueId id = node.outputs[0];
    const Source source = prebuilt({{}, node.constant});
    if (is_exposed(id)) {
      fresh(Instruction::Kind::FreshConstant, place, source, id);
    } else {
      at(id) = source;
    }
  }

  Source fresh(Instruction::Kind kind, int place, Source of, ValueId id) {
    Instruction instruction;
    instruction.kind = kind;
    instruction.node = &graph_.nodes[static_cast<std::size_t>(place)];
    instruction.operands = operands({of});
    const std::size_t first = program_.slots.size();
    const Source made = result(id);
    instruction.results = slots_since(first);
    program_.instructions.push_back(instruction);
    return made;
  }

  // What this node reads for the last time, and those of its results that nobody reads.
  Range release(int place, const Node& node, const std::vector<std::uint32_t>& numbers) {
    const std::size_t begin = program_.slots.size();
    program_.slots.insert(program_.slots.end(), numbers.begin(), numbers.end());
    const auto end_of = [&](ValueId id, int when) {
      const Source source = at(id);
      if (source.table != Table::Frame || last_read_[static_cast<std::size_t>(id)] != when) return;
      const auto seen = program_.slots.begin() + static_cast<std::ptrdiff_t>(begin);
      if (std::find(seen, program_.slots.end(), source.index) == program_.slots.end())
        program_.slots.push_back(source.index);
    };
    const int product = product_of_[static_cast<std::size_t>(place)];
    for (const Node* each :
         {&node, product >= 0 ? &graph_.nodes[static_cast<std::size_t>(product)] : nullptr}) {
      if (each == nullptr) continue;
      for (const Operand& operand : each->operands) {
        if (operand.is_value()) end_of(operand.value, place);
      }
    }
    for (const ValueId id : node.outputs) end_of(id, -1);
    free_.insert(free_.end(), program_.slots.begin() + static_cast<std::ptrdiff_t>(begin),
                 program_.slots.end());
    return slots_since(begin);
  }

  // ---- After the instructions ----

  Source target(const Effect& effect) {
    if (effect.member < 0) return at(effect.input);
    const Input& input = graph_.inputs[static_cast<std::size_t>(effect.input)];
    const int argument = input.members[static_cast<std::size_t>(effect.member)];
    return {Table::Argument, static_cast<std::uint32_t>(argument)};
  }

  std::uint32_t became(ValueId id) {
    return became_.try_emplace(id, static_cast<std::uint32_t>(became_.size())).first->second;
  }

  void effect(const Effect& effect) {
    EffectInstruction instruction;
    instruction.kind = effect.kind;
    instruction.effect = &effect;
    instruction.target = target(effect);
    const std::size_t first_view = program_.views.size();
    instruction.value = effect.kind == Effect::Kind::Set ? now(effect.value) : at(effect.value);
    instruction.views = range(first_view, program_.views.size());
    // What is put into a part of an argument is not that part: it lies where it was made, too.
    const ValueId part = -2 - static_cast<ValueId>(program_.effects.size());  // stands for no value
    instruction.became = became(graph_.is_input(effect.input) ? effect.value : part);
    instruction.may_be_over = late_.over[static_cast<std::size_t>(effect.value)] == effect.input;
    if (effect.kind == Effect::Kind::Layout) {
      instruction.layout = effect.layout;
      instruction.attrs = application(*effect.layout, effect.attrs);
    }
    program_.effects.push_back(instruction);
  }

  // Where a value is when the effects are done.
  Source now(ValueId id) {
    const auto found = became_.find(id);
    if (found != became_.end()) return {Table::Became, found->second};
    const int place = producers_[static_cast<std::size_t>(id)];
    if (place < 0 || became_.empty()) return at(id);
    const Node& node = graph_.nodes[static_cast<std::size_t>(place)];
    if (!node.is_view()) return at(id);
    const Source source = now(node.operands[0].value);
    if (source.table != Table::Became) return at(id);
    ViewInstruction instruction{node.op, application(*node.op, node.attrs), source.index, {}};
    for (const ValueId each : node.outputs) {
      instruction.results.push_back(became_.contains(each) ? -1 : static_cast<std::int32_t>(became(each)));
    }
    program_.views.push_back(std::move(instruction));
    return {Table::Became, became(id)};
  }

  void output(const Operand& operand) {
    const bool is_number = operand.is_number();
    program_.outputs.push_back(
        {is_number, operand.is_value() ? now(operand.value) : prebuilt({operand, {}})});
  }

  const Graph& graph_;
  Program program_;
  std::vector<bool> exposed_;
  TailKernels late_;
  std::vector<Source> sources_;  // of each value
  std::vector<int> producers_;
  std::vector<int> last_read_;     // by node
  std::vector<int> late_readers_;  // how many of the kernels that run together
  std::vector<int> when_;          // each node runs: at which place
  std::vector<int> product_of_;    // by node: what runs right before it, as one with it
  std::vector<std::uint32_t> free_;
  std::map<ValueId, std::uint32_t> became_;
};

}  // namespace

Program make_program(const Graph& graph, bool takes_arguments) { return Planner(graph).run(takes_arguments); }

}  // namespace kiln::jit

#include "jit/runtime/loop_function.h"

#include <algorithm>
#include <set>

#include "jit/cpu/flow_liveness.h"

namespace kiln::jit {
namespace {

struct NoOp {
  std::string reason;
};

class Finder {
 public:
  Finder(const FlowGraph& flow, const std::vector<ExitId>& done)
      : flow_(flow), done_(done), memory_(memory_shown(flow)), tensors_(tensors_of(flow)) {}

  FlowAsOp run() {
    LoopFunction function;
    check_inputs();
    check_steps();
    find_written(function);
    find_given(function);
    for (const std::size_t i : function.written) check_type(flow_.type(static_cast<ValueId>(i)));
    if (function.written.empty() && function.given.empty()) throw NoOp{"nothing comes out of it"};
    FlowAsOp made;
    made.function = std::move(function);
    made.places = std::move(places_);
    return made;
  }

 private:
  bool is_input(ValueId id) const { return id < static_cast<ValueId>(flow_.inputs.size()); }
  std::string name(ValueId id) const {
    const std::string& name = flow_.values[static_cast<std::size_t>(id)].name;
    return name.empty() ? "a value" : "`" + name + "`";
  }
  const std::vector<Operand>& values(ExitId exit) const {
    return flow_.exits[static_cast<std::size_t>(exit)].values;
  }

  void check_inputs() {
    for (std::size_t i = 0; i < flow_.inputs.size(); ++i) {
      const Type& type = flow_.values[i].type;
      if (type.strides) throw NoOp{name(static_cast<ValueId>(i)) + " has gaps in memory"};
      for (const Dim each : type.sizes) collect_symbols(each, known_);
    }
  }
  void check_steps() const {
    for (const FlowBlock& block : flow_.blocks) {
      for (const FlowStep& step : block.steps) {
        if (!step.node.is_constant() && step.node.op->is_ordered())
          throw NoOp{std::string(step.node.op->name()) + " has an effect besides its result"};
      }
    }
  }
  // What is shown outside has sizes that follow from those of the inputs.
  void check_type(const Type& type) const {
    std::set<std::string> symbols;
    for (const Dim each : type.sizes) collect_symbols(each, symbols);
    if (!std::includes(known_.begin(), known_.end(), symbols.begin(), symbols.end()))
      throw NoOp{"the sizes of a result follow a number"};
  }

  void find_written(LoopFunction& function) const {
    std::set<std::size_t> written;
    for (const FlowBlock& block : flow_.blocks) {
      for (const FlowStep& step : block.steps) {
        if (step.node.is_constant() || !step.node.writes()) continue;
        for (const ValueId each : memory_[static_cast<std::size_t>(step.node.operands[0].value)]) {
          if (is_input(each)) written.insert(static_cast<std::size_t>(each));
        }
      }
    }
    function.written.assign(written.begin(), written.end());
  }

  void find_given(LoopFunction& function) {
    const std::size_t count = values(done_.front()).size();
    for (std::size_t k = 0; k < count; ++k) {
      if (const std::optional<std::size_t> input = input_at(k)) {
        places_.push_back({true, *input});
        continue;
      }
      if (const std::optional<std::size_t> same = same_before(k)) {
        places_.push_back(places_[*same]);
        continue;
      }
      check_apart(k);
      places_.push_back({false, function.written.size() + function.given.size()});
      function.given.push_back(k);
    }
  }

  // The input that value k is, at each exit.
  std::optional<std::size_t> input_at(std::size_t k) const {
    std::set<std::optional<std::size_t>> found;
    for (const ExitId exit : done_) found.insert(input_of(values(exit)[k]));
    if (found.size() > 1)
      throw NoOp{name(values(done_.front())[k].value) + " is now one tensor and now another"};
    return *found.begin();
  }
  std::optional<std::size_t> input_of(const Operand& value) const {
    if (!value.is_value() || flow_.type(value.value).is_number) return std::nullopt;
    const ValueSet& all = tensors_[static_cast<std::size_t>(value.value)];
    const ValueId first = *all.begin();  // inputs have the smallest numbers
    if (!is_input(first)) return std::nullopt;
    if (all.size() > 1) throw NoOp{name(value.value) + " is now one tensor and now another"};
    return static_cast<std::size_t>(first);
  }
  std::optional<std::size_t> same_before(std::size_t k) const {
    for (std::size_t j = 0; j < k; ++j) {
      const auto is_same = [&](ExitId exit) { return values(exit)[j] == values(exit)[k]; };
      if (values(done_.front())[k].is_value() && std::all_of(done_.begin(), done_.end(), is_same)) return j;
    }
    return std::nullopt;
  }
  // Results are in memory of their own.
  void check_apart(std::size_t k) {
    for (const ExitId exit : done_) {
      const Operand& value = values(exit)[k];
      if (!value.is_value()) throw NoOp{"a number that it gives is a size"};
      if (flow_.type(value.value).is_number) continue;
      check_type(flow_.type(value.value));
      const ValueSet& shown = memory_[static_cast<std::size_t>(value.value)];
      for (const ValueId each : shown) {
        if (is_input(each)) throw NoOp{name(value.value) + " is a view of " + name(each)};
        for (std::size_t j = 0; j < values(exit).size(); ++j) {
          const Operand& other = values(exit)[j];
          if (j == k || !other.is_value() || other == value || flow_.type(other.value).is_number) continue;
          if (memory_[static_cast<std::size_t>(other.value)].contains(each))
            throw NoOp{name(value.value) + " may share memory with " + name(other.value)};
        }
      }
    }
  }

  const FlowGraph& flow_;
  const std::vector<ExitId>& done_;
  const std::vector<ValueSet> memory_, tensors_;
  std::set<std::string> known_;  // symbols of the sizes of inputs
  std::vector<FlowAsOp::Place> places_;
};

}  // namespace

FlowAsOp as_op(std::shared_ptr<const FlowGraph> flow, std::vector<ExitId> done) {
  FlowAsOp made;
  try {
    made = Finder(*flow, done).run();
  } catch (const NoOp& refused) {
    made.reason = refused.reason;
    return made;
  }
  made.function->flow = std::move(flow);
  made.function->done = std::move(done);
  return made;
}

}  // namespace kiln::jit

#include "jit/runtime/reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "jit/graph/evaluate.h"
#include "jit/graph/fault_script.h"
#include "jit/graph/rewrite.h"
#include "jit/graph/text.h"
#include "jit/passes/run_recipe.h"
#include "tensor/error.h"
#include "tensor/host_view.h"

namespace kiln::jit {
namespace {

// Each attempt compiles a graph.
constexpr int kMostAttempts = 300;

RunGraph interpreted(const Graph& graph) {
  return [&graph](Inputs arguments) { return evaluate(graph, arguments); };
}

// What is done to arguments in the end as more results.
Graph without_effects(Graph graph) {
  for (const Effect& each : graph.effects) graph.outputs.push_back(Operand::of(each.value));
  graph.effects.clear();
  return graph;
}

// A graph that computes one value from others, which become its inputs.
class ProducingGraph {
 public:
  ProducingGraph(const Graph& graph, ValueId result, const std::set<ValueId>& given)
      : graph_(graph), given_(given) {
    const std::vector<int> producers = graph.producers();
    const auto place = [&](ValueId id) {
      return given.contains(id) ? -1 : producers[static_cast<std::size_t>(id)];
    };
    std::set<int> needed;
    std::vector<ValueId> open{result};
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      if (place(id) < 0) {
        inputs_.insert(id);
      } else if (needed.insert(place(id)).second) {
        for (const Operand& each : graph.nodes[static_cast<std::size_t>(place(id))].operands) {
          if (each.is_value()) open.push_back(each.value);
        }
      }
    }
    build(result, needed);
  }

  Graph graph() { return std::move(made_.graph); }
  // Values of the whole graph, in the order of the inputs.
  const std::set<ValueId>& inputs() const { return inputs_; }

 private:
  void build(ValueId result, const std::set<int>& needed) {
    made_.graph.stage = Stage::Functional;
    made_.graph.name = graph_.name;
    made_.graph.fast_math = graph_.fast_math;
    std::vector<ValueId> map(graph_.values.size(), Operand::kAbsent);
    for (const ValueId id : inputs_) {
      const Value& value = graph_.values[static_cast<std::size_t>(id)];
      map[static_cast<std::size_t>(id)] = made_.input(value.name, value.type);
    }
    for (const int place : needed) {
      Node node = graph_.nodes[static_cast<std::size_t>(place)];
      const std::vector<ValueId> outputs = std::move(node.outputs);
      node.outputs.clear();
      for (Operand& each : node.operands) {
        if (each.is_value()) each.value = map[static_cast<std::size_t>(each.value)];
      }
      std::vector<Type> types;
      std::vector<std::string> names;
      for (const ValueId id : outputs) {
        types.push_back(graph_.values[static_cast<std::size_t>(id)].type);
        names.push_back(graph_.values[static_cast<std::size_t>(id)].name);
      }
      const std::vector<ValueId> fresh = made_.append(std::move(node), std::move(types), names);
      for (std::size_t k = 0; k < fresh.size(); ++k) map[static_cast<std::size_t>(outputs[k])] = fresh[k];
    }
    made_.graph.outputs = {Operand::of(map[static_cast<std::size_t>(result)])};
  }

  const Graph& graph_;
  const std::set<ValueId>& given_;
  std::set<ValueId> inputs_;
  Builder made_;
};

class Reducer {
 public:
  Reducer(GraphCall call, const MakeRun& make) : call_(std::move(call)), graph_(call_.graph), make_(make) {}

  std::optional<Reproduction> run() {
    std::string whole = difference_on(call_, make_);
    if (whole.empty()) return std::nullopt;
    best_ = {call_, std::move(whole)};
    const bool plain = std::none_of(graph_.inputs.begin(), graph_.inputs.end(),
                                    [](const Input& each) { return each.role == Role::Base; });
    if (plain && know_values()) {
      find_wanted();
      one_result();
      fewer_nodes();
    }
    simpler_arguments();
    return std::move(best_);
  }

 private:
  // Every value of the graph, as the interpreter has it.
  bool know_values() {
    Graph all = graph_;
    all.outputs.clear();
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.values.size()); ++id)
      all.outputs.push_back(Operand::of(id));
    const Outcome outcome = run_on(interpreted(all), copies_of(call_.arguments));
    values_ = outcome.results;
    return values_.size() == graph_.values.size();
  }

  // Values that have gradients where they are an input: floats made of what has one.
  void find_wanted() {
    wanted_ = call_.wanted;
    wanted_.resize(graph_.values.size(), false);
    for (const Node& node : graph_.nodes) {
      const bool any = std::any_of(node.operands.begin(), node.operands.end(), [this](const Operand& each) {
        return each.is_value() && wanted_[static_cast<std::size_t>(each.value)];
      });
      for (const ValueId id : node.outputs) {
        const auto at = static_cast<std::size_t>(id);
        wanted_[at] = any && is_differentiable(graph_.values[at].type.dtype);
      }
    }
  }

  bool try_cut(ValueId result, const std::set<ValueId>& given) {
    if (++attempts_ > kMostAttempts) return false;
    ProducingGraph cut(graph_, result, given);
    GraphCall call;
    for (const ValueId id : cut.inputs()) {
      call.arguments.push_back(values_[static_cast<std::size_t>(id)]);
      call.wanted.push_back(wanted_[static_cast<std::size_t>(id)]);
    }
    call.graph = cut.graph();
    return try_one(std::move(call));
  }
  bool try_one(GraphCall call) {
    std::string found = difference_on(call, make_);
    if (found.empty()) return false;
    best_ = {std::move(call), std::move(found)};
    return true;
  }

  // The first value that differs when it is the only result.
  void one_result() {
    for (const Node& node : graph_.nodes) {
      for (const ValueId id : node.outputs) {
        if (!try_cut(id, {})) continue;
        result_ = id;
        return;
      }
    }
  }

  void fewer_nodes() {
    if (result_ < 0) return;
    std::set<ValueId> given;
    for (const Node& node : graph_.nodes) {
      if (node.is_constant()) continue;
      if (std::find(node.outputs.begin(), node.outputs.end(), result_) != node.outputs.end()) return;
      std::set<ValueId> more = given;
      more.insert(node.outputs.begin(), node.outputs.end());
      if (try_cut(result_, more)) given = std::move(more);
    }
  }

  void simpler_arguments() {
    for (std::size_t k = 0; k < best_.call.arguments.size(); ++k) {
      const Tensor x = best_.call.arguments[k];
      if (x.is_number()) continue;
      for (const Tensor& simple : {filled(x, 1.0), counted(x), with_elements(x, x)}) {
        GraphCall call = best_.call;
        call.arguments[k] = simple;
        if (try_one(std::move(call))) break;
      }
    }
  }
  // Row by row, with the dtype and the device of `like`.
  static Tensor with_elements(const Tensor& x, const Tensor& like) {
    const Tensor made = Tensor::empty(x.sizes(), like.dtype(), like.device());
    const HostView elements(x, like.dtype());
    std::copy_n(elements.bytes(), elements.byte_count(), WritableHostView(made).bytes());
    return made;
  }
  static Tensor from_f64(const Tensor& like, const std::function<double(std::int64_t)>& element) {
    const Tensor wide = Tensor::empty(like.sizes(), DType::F64, Device{});
    {
      const WritableHostView elements(wide);
      for (std::int64_t i = 0; i < wide.numel(); ++i) elements.as<double>()[i] = element(i);
    }
    return with_elements(wide, like);
  }
  static Tensor filled(const Tensor& like, double value) {
    return from_f64(like, [value](std::int64_t) { return value; });
  }
  static Tensor counted(const Tensor& like) {
    return from_f64(like, [](std::int64_t i) { return static_cast<double>(i % 100); });
  }

  const GraphCall call_;
  const Graph& graph_;
  const MakeRun& make_;
  std::vector<Tensor> values_;
  std::vector<bool> wanted_;  // by value
  ValueId result_ = -1;
  int attempts_ = 0;
  Reproduction best_;
};

}  // namespace

std::string difference_on(const GraphCall& call, const MakeRun& make) {
  std::vector<Tensor> ours = copies_of(call.arguments), theirs = copies_of(call.arguments);
  if (ours.size() != call.arguments.size()) return "";
  const RunGraph run = [&](Inputs given) { return make(call.graph, call.wanted)(given); };
  const Outcome compiled = run_on(run, std::move(ours));
  if (compiled.refused) return "";
  std::string found =
      first_difference(compiled, run_on(interpreted(call.graph), std::move(theirs)), names_of(call.graph));
  return found.empty() ? gradient_difference(call.graph, run, call.arguments, call.wanted) : found;
}

std::optional<Reproduction> reduce(const GraphCall& captured, const MakeRun& make) {
  GraphCall call{captured.graph, copies_of(captured.arguments), captured.wanted};
  try {
    call.graph = without_effects(run_recipe(recipes::kFunctional, captured.graph));
  } catch (const OpError&) {  // it has no functional form, and is shown as it is
  }
  return Reducer(std::move(call), make).run();
}

std::string program_of(const Reproduction& found, const std::string& backend) {
  return script_of(found.call.graph, found.call.arguments, found.call.wanted, found.difference, backend);
}

}  // namespace kiln::jit

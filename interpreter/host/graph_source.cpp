#include "interpreter/host/graph_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "interpreter/host/source_names.h"
#include "interpreter/host/source_text.h"
#include "interpreter/host/source_weights.h"
#include "interpreter/vm/arguments.h"
#include "jit/graph/custom.h"
#include "jit/graph/loop.h"
#include "jit/graph/text.h"
#include "jit/graph/with_sizes.h"

namespace kiln::interp::host {
namespace {

// Values that a caller gets to see the memory of: results, and what those are views of.
std::vector<bool> returned_memory(const jit::Graph& graph) {
  std::vector<bool> seen(graph.values.size(), false);
  const auto see = [&seen](const jit::Operand& operand) {
    if (operand.is_value()) seen[static_cast<std::size_t>(operand.value)] = true;
  };
  for (const jit::Operand& each : graph.outputs) see(each);
  for (const jit::Effect& each : graph.effects) see(jit::Operand::of(each.value));
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool is_seen = std::ranges::any_of(
        node->outputs, [&seen](jit::ValueId id) { return seen[static_cast<std::size_t>(id)]; });
    if (is_seen && node->is_view()) see(node->operands[0]);
  }
  return seen;
}

class SourceWriter {
 public:
  SourceWriter(const GraphValue& value, const Module& prelude)
      : given_(value), prelude_(prelude), names_(value.graph), graph_(with_words(value.graph)) {
    is_returned_ = returned_memory(graph_);
    keys_ = names_in_text(value.graph);
  }

  std::string text() {
    const std::string name = function_name();  // the first to choose a name
    const std::string head = fmt::format("fn {}({}) {{\n", name, fmt::join(parameters(), ", "));
    take_bound();
    for (const SizeGuard& each : given_.graph.size_guards) check(each);
    for (const jit::Node& node : graph_.nodes) apply(node);
    write_effects();
    if (!graph_.outputs.empty()) {
      std::vector<std::string> results;
      for (const jit::Operand& each : graph_.outputs)
        results.push_back(each.is_value() ? now(each.value) : operand_source(each));
      add(fmt::format("return {}", fmt::join(results, ", ")));
    }
    return head + jit::align_comments(lines_) + "}\n";
  }

 private:
  // Symbols are words of the source: those that mean something else in it get others.
  jit::Graph with_words(const jit::Graph& graph) {
    for (const auto& [symbol, hint] : graph.hints) symbols_.emplace(symbol, Dim::symbol(names_.take(symbol)));
    return jit::with_sizes(graph, symbols_);
  }

  void add(std::string line, std::string comment = "") {
    lines_.push_back({"  " + std::move(line), std::move(comment)});
  }
  std::string& name_of(jit::ValueId id) {
    std::string& name = value_names_[id];
    if (name.empty()) name = names_.take(keys_[static_cast<std::size_t>(id)]);
    return name;
  }
  std::string operand_source(const jit::Operand& operand) {
    if (operand.is_value()) return name_of(operand.value);
    return operand.is_number() ? number_source(operand.number) : "none";
  }

  // ---- Parameters ----

  std::string function_name() {
    return names_.take(graph_.name.empty()                     ? "graph"
                       : prelude_.find(graph_.name) != nullptr ? graph_.name + "_graph"
                                                               : graph_.name);
  }

  std::string parameter(std::size_t input) {
    const jit::Value& value = graph_.values[input];
    if (value.type.is_number) {
      const auto symbol = symbols_.find(keys_[input]);
      if (symbol != symbols_.end()) value_names_[static_cast<jit::ValueId>(input)] = symbol->second.text();
      return name_of(static_cast<jit::ValueId>(input));
    }
    return fmt::format("{}: {}{}", name_of(static_cast<jit::ValueId>(input)), name(value.type.dtype),
                       text_of(value.type.sizes));
  }

  // One for each tensor of a call.
  std::vector<std::string> parameters() {
    const std::vector<int> places = graph_.arguments();
    std::vector<std::string> all(static_cast<std::size_t>(graph_.argument_count()));
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (places[i] >= 0) {
        if (!is_bound(places[i])) all[static_cast<std::size_t>(places[i])] = parameter(i);
        continue;
      }
      for (const int member : graph_.inputs[i].members)
        all[static_cast<std::size_t>(member)] = members_[member] =
            names_.take(fmt::format("{}_{}", keys_[i], member));
    }
    std::erase(all, "");
    if (!source_weights(given_).empty()) all.emplace_back("weights");
    return all;
  }
  bool is_bound(int argument) const {
    const auto at = static_cast<std::size_t>(argument);
    return at < given_.bound.size() && given_.bound[at];
  }

  // What is no parameter by itself: weights, and the memory that several parameters share.
  void take_bound() {
    const std::vector<int> places = graph_.arguments();
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      const auto id = static_cast<jit::ValueId>(i);
      if (places[i] < 0) {
        add(fmt::format("{} = as_strided({}, {}, [1], 0)", name_of(id), members_[graph_.inputs[i].members[0]],
                        text_of(graph_.values[i].type.sizes)));
      } else if (is_bound(places[i])) {
        add(fmt::format("{} = weights[\"{}\"]", name_of(id), keys_[i]));
      }
    }
  }

  void check(const SizeGuard& guard) {
    static constexpr std::string_view kSpellings[] = {"==", "!=", "<", "<="};
    add(fmt::format("assert {} {} {}, \"{} was made for other sizes\"", substitute(guard.a, symbols_).text(),
                    kSpellings[static_cast<std::size_t>(guard.relation)],
                    substitute(guard.b, symbols_).text(), graph_.name));
  }

  // ---- Nodes ----

  std::string constant_source(const jit::Node& node) {
    if (is_spelled(node.constant)) return tensor_source(node.constant);
    const auto id = static_cast<std::size_t>(node.outputs[0]);
    const bool is_shared = graph_.is_functional() && !is_returned_[id];
    return fmt::format("weights[\"{}\"]{}", keys_[id], is_shared ? "" : ".clone()");
  }

  // `names`: of the results.
  std::string assignment(const jit::Node& node, const std::vector<std::string>& names,
                         const std::string& call) {
    if (names.empty()) return call;
    if (node.op == nullptr || node.op->outputs != kVariadic)
      return fmt::format("{} = {}", fmt::join(names, ", "), call);
    return fmt::format("({}{}) = {}", fmt::join(names, ", "), names.size() == 1 ? "," : "", call);
  }

  std::string application(const jit::Node& node, std::span<const std::string> operands) {
    const bool writes = node.writes() && !graph_.is_functional();
    const std::string call = application_source(graph_, node, operands, writes, prelude_);
    return node.form == jit::Form::Copy ? fmt::format("({}).clone()", call) : call;
  }

  void apply(const jit::Node& node) {
    std::vector<std::string> operands, results;
    for (const jit::Operand& each : node.operands)
      operands.push_back(each.is_value() || each.is_number() ? operand_source(each) : "");
    for (const jit::ValueId id : node.outputs) results.push_back(name_of(id));
    const std::string call = node.is_constant() ? constant_source(node) : application(node, operands);
    add(assignment(node, results, call), jit::place_text(graph_, node));
  }

  // ---- Effects ----

  std::string target(const jit::Effect& effect) {
    if (effect.member < 0) return name_of(effect.input);
    const jit::Input& input = graph_.inputs[static_cast<std::size_t>(effect.input)];
    return members_[input.members[static_cast<std::size_t>(effect.member)]];
  }

  // As `evaluate` does them: all values are read before elements are written, and elements before layouts.
  void write_effects() {
    std::vector<std::string> written;
    for (const jit::Effect& each : graph_.effects) {
      if (each.kind != jit::Effect::Kind::Write) continue;
      written.push_back(names_.take(name_of(each.value) + "_written"));
      add(fmt::format("{} = {}.clone()", written.back(), name_of(each.value)));
    }
    std::size_t next = 0;
    for (const jit::Effect& each : graph_.effects) {
      if (each.kind != jit::Effect::Kind::Write) continue;
      add(fmt::format("{}.copy_({})", target(each), written[next++]));
      became(each);
    }
    for (const jit::Effect& each : graph_.effects) {
      if (each.kind == jit::Effect::Kind::Write) continue;
      change_layout(each);
      became(each);
    }
  }

  void became(const jit::Effect& effect) {
    if (graph_.is_input(effect.input)) became_[effect.value] = target(effect);
  }

  void change_layout(const jit::Effect& effect) {
    if (effect.kind == jit::Effect::Kind::Same) return;
    const std::string x = target(effect);
    const std::string value = effect.kind == jit::Effect::Kind::Set ? now(effect.value) : "";
    leave_behind(x);
    if (effect.kind == jit::Effect::Kind::Set) return add(fmt::format("{}.set_({})", x, value));
    jit::Node node;
    node.op = effect.layout;
    node.attrs = effect.attrs;
    node.operands = {jit::Operand::of(effect.input)};
    add(application_source(graph_, node, std::span(&x, 1), true, prelude_));
  }

  // What was the tensor until now is a view of it in its old layout.
  void leave_behind(const std::string& x) {
    std::string before;
    for (auto& [id, name] : became_) {
      if (name != x) continue;
      if (before.empty()) {
        before = names_.take(x + "_before");
        add(fmt::format("{} = {}.view({}.shape)", before, x, x));
      }
      name = before;
    }
  }

  // A value after the effects: those that became arguments, and views of them, are taken anew.
  std::string now(jit::ValueId id) {
    const auto found = became_.find(id);
    if (found != became_.end()) return found->second;
    const int place = became_.empty() ? -1 : graph_.producers()[static_cast<std::size_t>(id)];
    if (place < 0) return name_of(id);
    const jit::Node& node = graph_.nodes[static_cast<std::size_t>(place)];
    if (!node.is_view()) return name_of(id);
    const jit::ValueId source = node.operands[0].value;
    const std::string base = now(source);
    if (!became_.contains(source)) return name_of(id);
    std::vector<std::string> results;
    for (const jit::ValueId each : node.outputs) {
      results.push_back(names_.take(name_of(each) + "_now"));
      became_.try_emplace(each, results.back());
    }
    add(assignment(node, results, application(node, std::span(&base, 1))));
    return became_[id];
  }

  const GraphValue& given_;
  const Module& prelude_;
  LocalNames names_;
  SymbolSizes symbols_;  // by the symbol of the graph
  const jit::Graph graph_;
  std::vector<std::string> keys_;  // of values, as the text of the graph has them
  std::map<jit::ValueId, std::string> value_names_;
  std::map<int, std::string> members_;  // of bases, by argument
  std::map<jit::ValueId, std::string> became_;
  std::vector<bool> is_returned_;
  std::vector<jit::CommentedLine> lines_;
};

}  // namespace

std::string graph_source(const GraphValue& value, const Module& prelude) {
  if (value.graph.stage == jit::Stage::Fused)
    raise("ValueError", fmt::format("graph {} is of kernels, which have no source", value.graph.name),
          "the functional graph has: `graph(f, …).to_source()`");
  const std::vector<const Op*> customs = jit::custom_ops(value.graph);
  if (!customs.empty())
    raise(
        "ValueError",
        fmt::format(
            "graph {} applies `{}`, a function with a derivative of its own, which source of ops cannot say",
            value.graph.name, customs.front()->name()),
        "the text of the graph has its bodies: `parse_graph(str(g))` is the graph again");
  const std::vector<const Op*> loops = jit::loop_ops(value.graph);
  if (!loops.empty())
    raise("ValueError",
          fmt::format("graph {} has a loop as one node, `{}`, which source of ops cannot say",
                      value.graph.name, loops.front()->name()),
          "the function that it was captured from is the source of the loop");
  return SourceWriter(value, prelude).text();
}

}  // namespace kiln::interp::host

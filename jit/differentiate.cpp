#include "jit/differentiate.h"

#include <algorithm>
#include <map>

#include "jit/backward.h"
#include "jit/layouts.h"

namespace kiln::jit {
namespace {

// ---- The forward part ----

struct Forward {
  Graph graph;
  Correspondence values;
};

// The functional form of a program, and what its values are.
Functionalized functional_form(const Graph& program) {
  if (program.stage == Stage::Captured) return functionalize_values(program);
  Functionalized same{program, {}};
  for (const Node& node : program.nodes) same.nodes.push_back({node.operands, node.outputs});
  return same;
}

// A write by an op that the tape sees as the smaller ops of its body computes these, then writes.
Forward with_bodies(Functionalized functional) {
  std::map<ValueId, std::size_t> node_of;  // of the program, by its first result
  for (std::size_t k = 0; k < functional.nodes.size(); ++k) {
    if (!functional.nodes[k].results.empty()) node_of[functional.nodes[k].results[0]] = k;
  }
  Forward made;
  Rewriter rewriter(functional.graph);
  Producers producers;
  for (const Node& node : functional.graph.nodes) {
    const auto found = node.outputs.empty() ? node_of.end() : node_of.find(node.outputs[0]);
    const bool by_body = !node.is_constant() && differentiates_by_body(*node.op) && found != node_of.end();
    const Node here = rewriter.mapped(node);
    const Body body = [&here](Inputs given, const SymbolValues& symbols) {
      return run_body(*here.op, given, evaluate(*here.op, here.attrs, symbols));
    };
    auto fragment = by_body ? trace(body, trace_operands(rewriter.graph, producers.of(rewriter.graph), here),
                                    functional.graph.hints, differentiates_by_body)
                            : std::nullopt;
    if (!fragment) {
      rewriter.copy(node);
      continue;
    }
    const std::string& name = functional.graph.values[static_cast<std::size_t>(node.outputs[0])].name;
    std::vector<Operand> slots = inline_steps(rewriter, *fragment, here.operands, node, name);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      rewriter.map(node.outputs[k], slots[static_cast<std::size_t>(fragment->outputs[k].value)].value);
    }
    made.values.bodies[found->second] = {std::move(*fragment), std::move(slots)};
  }
  for (Functionalized::Values& each : functional.nodes) {
    for (Operand& operand : each.operands) operand = rewriter.at(operand);
    for (ValueId& id : each.results) id = rewriter.at(id);
  }
  made.values.nodes = std::move(functional.nodes);
  made.graph = rewriter.finish();
  return made;
}

// Values of which a gradient says that it is theirs have names.
void name_values(Graph& graph, const Tape& tape) {
  Builder names(graph);
  const std::vector<int> producers = graph.producers();
  for (const TapeNode& node : tape.nodes) {
    if (node.value < 0 || producers[static_cast<std::size_t>(node.value)] < 0) continue;
    std::string& name = graph.values[static_cast<std::size_t>(node.value)].name;
    if (!name.empty()) continue;
    const auto& made = graph.nodes[static_cast<std::size_t>(producers[static_cast<std::size_t>(node.value)])];
    name = names.fresh_after(made);
  }
}

std::string name_of(const Graph& graph, const Result& result) {
  const ValueId id =
      result.is_input ? result.index : graph.outputs[static_cast<std::size_t>(result.index)].value;
  return graph.values[static_cast<std::size_t>(id)].name;
}

void name_gradient(Builder& builder, const Operand& gradient, const std::string& of) {
  if (!gradient.is_value()) return;
  std::string& name = builder.graph.values[static_cast<std::size_t>(gradient.value)].name;
  if (name.empty()) name = builder.fresh("grad_" + of);
}

}  // namespace

Joint differentiate(const Graph& graph, const std::vector<bool>& wanted,
                    const std::optional<std::vector<Result>>& given) {
  const Graph program = expand_recorded(graph);
  Forward forward = with_bodies(functional_form(program));
  const Tape tape = record_tape(program, forward.graph, forward.values, wanted);
  name_values(forward.graph, tape);
  Joint joint;
  Rewriter rewriter(forward.graph);
  rewriter.graph.stage = Stage::Joint;
  BackwardWalk walk(tape, rewriter);
  std::vector<Edge> roots;
  std::vector<Operand> root_grads;
  for (const Tape::Leaving& each : tape.results) {
    if (!walk.reaches_wanted(each.edge)) continue;
    if (given && std::find(given->begin(), given->end(), each.result) == given->end()) continue;
    joint.given.push_back(each.result);
    roots.push_back(each.edge);
    Input input;
    input.role = Role::Grad;
    const std::string& name = name_of(each.result.is_input ? program : forward.graph, each.result);
    root_grads.push_back(Operand::of(rewriter.input("grad_" + name, each.type, input)));
  }
  for (const Node& node : forward.graph.nodes) rewriter.copy(node);
  const std::vector<Operand> gradients = walk.run(roots, root_grads);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!tape.inputs[i]) continue;
    joint.wanted.push_back(static_cast<int>(i));
    name_gradient(rewriter, gradients[i], program.values[i].name);
  }
  joint.graph = rewriter.finish();
  joint.outputs = static_cast<int>(joint.graph.outputs.size());
  for (const int i : joint.wanted) joint.graph.outputs.push_back(gradients[static_cast<std::size_t>(i)]);
  return joint;
}

}  // namespace kiln::jit

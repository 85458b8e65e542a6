#include "tests/jit/gradients.h"

#include <algorithm>

#include "jit/graph/evaluate.h"
#include "tensor/levels/grad_level.h"
#include "tensor/random.h"
#include "tests/tensor/tensors.h"

namespace kiln::jit::testing {
namespace {

// Without pattern: gradients that come in.
std::vector<Tensor> gradients_in(const Joint& joint) {
  std::vector<Tensor> grads;
  const std::size_t count = joint.graph.inputs.size();
  for (std::size_t i = count - joint.given.size(); i < count; ++i) {
    const TensorType type = evaluate(joint.graph.values[i].type, joint.graph.hints);
    grads.push_back(kiln::testing::noise(type.sizes, type.dtype, static_cast<int>(i)));
  }
  return grads;
}

// As eager code does it. Without `grads`, ones. What comes out belongs to the level at which this is called.
Outcome by_tape(const std::function<Tensors(std::vector<Tensor>&)>& run, const std::vector<int>& wanted,
                const std::vector<Result>& given, std::vector<Tensor> arguments,
                const std::vector<Tensor>& grads) {
  levels::GradLevel level;
  std::vector<levels::Variable> variables;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool varies = std::find(wanted.begin(), wanted.end(), i) != wanted.end();
    if (varies) variables.push_back(level.variable(arguments[i]));
    arguments[i] = varies ? variables.back().inside : level.made(arguments[i]);
  }
  const Tensors outputs = run(arguments);
  std::vector<Tensor> roots, starts = grads;
  for (const Result& each : given) {
    roots.push_back(each.is_input ? arguments[static_cast<std::size_t>(each.index)]
                                  : outputs[static_cast<std::size_t>(each.index)]);
  }
  for (std::size_t i = starts.size(); i < roots.size(); ++i) {
    starts.push_back(ops::ones(levels::innermost(roots[i]).sizes(), roots[i].dtype()));
  }
  Outcome outcome;
  outcome.gradients = level.gradients(roots, starts, variables, false);
  const auto below = [&level](const Tensor& x) { return x ? levels::value_below(level, x) : x; };
  for (const Tensor& each : outputs) outcome.outputs.push_back(below(each));
  for (const Tensor& each : arguments) outcome.arguments.push_back(below(each));
  return outcome;
}

std::string compare(std::string_view what, const std::vector<Tensor>& expected,
                    const std::vector<Tensor>& actual) {
  if (expected.size() != actual.size()) return "another number of " + std::string(what) + "s";
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::string who = std::string(what) + " " + std::to_string(i);
    if (!expected[i] != !actual[i]) return who + (expected[i] ? " is absent" : " should be absent");
    if (expected[i] && !kiln::testing::same_bits(expected[i], actual[i])) {
      return who + " is " + kiln::testing::describe(actual[i]) + ", not " +
             kiln::testing::describe(expected[i]);
    }
  }
  return {};
}

}  // namespace

std::vector<bool> all_floats(const Graph& graph) {
  std::vector<bool> wanted;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    wanted.push_back(is_float(graph.values[i].type.dtype));
  return wanted;
}

Outcome by_graph(const Joint& joint, std::vector<Tensor> arguments, const std::vector<Tensor>& grads) {
  Outcome outcome;
  outcome.arguments = arguments;
  arguments.insert(arguments.end(), grads.begin(), grads.end());
  const Tensors all = evaluate(joint.graph, arguments);
  outcome.outputs.assign(all.begin(), all.begin() + joint.outputs);
  outcome.gradients.assign(all.begin() + joint.outputs, all.end());
  return outcome;
}

Case case_of(const Graph& program, Joint joint, std::function<std::vector<Tensor>()> arguments) {
  std::vector<Tensor> grads = gradients_in(joint);
  return {std::move(joint), std::move(arguments), std::move(grads),
          [program](std::vector<Tensor>& given) { return evaluate(program, given); }};
}

Case second_case_of(const Case& first, Joint joint) {
  std::vector<Tensor> grads = gradients_in(joint);
  const auto arguments = [first] {
    std::vector<Tensor> all = first.arguments();
    all.insert(all.end(), first.grads.begin(), first.grads.end());
    return all;
  };
  const auto run = [first](std::vector<Tensor>& given) {
    const auto inner = given.end() - static_cast<std::ptrdiff_t>(first.grads.size());
    const Outcome outcome = by_tape(first.run, first.joint.wanted, first.joint.given, {given.begin(), inner},
                                    {inner, given.end()});
    Tensors all(outcome.outputs.begin(), outcome.outputs.end());
    for (const Tensor& each : outcome.gradients) all.push_back(each);
    return all;
  };
  return {std::move(joint), arguments, std::move(grads), run};
}

bool raises(const Graph& program, const std::vector<Tensor>& arguments) {
  try {
    evaluate(program, arguments);
    return false;
  } catch (const OpError&) {
    return true;
  }
}

bool tape_refuses(const Graph& program, std::vector<Tensor> arguments) {
  std::vector<int> wanted;
  std::vector<Result> results;
  for (int i = 0; i < static_cast<int>(program.inputs.size()); ++i) {
    if (is_float(program.values[static_cast<std::size_t>(i)].type.dtype)) wanted.push_back(i);
    results.push_back({true, i});
  }
  for (int k = 0; k < static_cast<int>(program.outputs.size()); ++k) {
    if (program.outputs[static_cast<std::size_t>(k)].is_value()) results.push_back({false, k});
  }
  try {
    by_tape([&program](std::vector<Tensor>& given) { return evaluate(program, given); }, wanted, results,
            std::move(arguments), {});
    return false;
  } catch (const OpError&) {
    return true;
  }
}

std::string difference(const Case& each) {
  return difference(each, [&each](std::vector<Tensor> arguments) {
    return by_graph(each.joint, std::move(arguments), each.grads);
  });
}

std::string difference(const Case& each, const std::function<Outcome(std::vector<Tensor>)>& run) {
  Outcome expected, actual;
  bool refused = false;
  seed(7);
  try {
    expected = by_tape(each.run, each.joint.wanted, each.joint.given, each.arguments(), each.grads);
  } catch (const OpError&) {
    refused = true;
  }
  seed(7);
  try {
    actual = run(each.arguments());
  } catch (const OpError& error) {
    return refused ? "" : error.message();
  }
  if (refused) return "the tape refuses, the graph does not";
  for (const std::string& fault : {compare("result", expected.outputs, actual.outputs),
                                   compare("argument", expected.arguments, actual.arguments),
                                   compare("gradient", expected.gradients, actual.gradients)}) {
    if (!fault.empty()) return fault;
  }
  return {};
}

}  // namespace kiln::jit::testing

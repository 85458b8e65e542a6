// Owns comparing two ways to run a graph: results, what becomes of arguments, errors; to the bit.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

// One tensor per argument in; the results out, with what the graph does to its arguments done.
using RunGraph = std::function<Tensors(Inputs)>;

// Elements in memory of their own, which they share as these do; no history. Empty where that cannot be:
// tensors of a transform, memory read as several dtypes.
std::vector<Tensor> copies_of(Inputs tensors);

struct Outcome {
  std::vector<Tensor> results;
  std::vector<Tensor> arguments;  // afterwards
  std::string error;              // the message of an OpError; then there are no results
  bool refused = false;           // the graph does not hold for these arguments, and says so
};
// Leaves the random state as it was.
Outcome run_on(const RunGraph& run, std::vector<Tensor> arguments);

// What the results and arguments are called in sentences.
struct OutcomeNames {
  std::vector<std::string> results;
  std::vector<std::string> arguments;
};
// Of a graph: "result 1 (%y)", "argument %x".
OutcomeNames names_of(const Graph& graph);

// Between the gradients of two ways to run a graph, by the arguments `wanted`: of all results that have one,
// each weighted by ones. On copies that are leaves. Empty where there is nothing to compare: the interpreter
// fails, the graph does not hold, or functions with derivatives of their own are in it, which may do anything
// and are not run twice.
std::string gradient_difference(const Graph& graph, const RunGraph& compiled, Inputs arguments,
                                const std::vector<bool>& wanted);

// Which of the results, and of the arguments afterwards, require gradients, where those `wanted` did before.
// On copies that are no leaves. Nothing where the call fails or functions with derivatives of their own are
// in the graph.
struct Requiring {
  std::vector<bool> results, arguments;
};
std::optional<Requiring> requiring_after(const Graph& graph, const RunGraph& run, Inputs arguments,
                                         const std::vector<bool>& wanted);
Requiring requiring(Inputs results, Inputs arguments);
// The first difference as a sentence, empty when there is none.
std::string requiring_difference(const Requiring& compiled, const Requiring& interpreted,
                                 const OutcomeNames& names);

// The first difference as a sentence, empty when there is none: dtypes, sizes, elements (nans are equal), who
// shares memory with whom, writes.
std::string first_difference(const Outcome& compiled, const Outcome& interpreted, const OutcomeNames& names);

}  // namespace kiln::jit

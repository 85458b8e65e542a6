// Owns finding the smallest graph on which compiled code still differs from the interpreter, and writing it
// down as a program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jit/compare.h"

namespace kiln::jit {

// What runs a graph by the backend in question.
using MakeRun = std::function<RunGraph(const Graph&)>;

// The first difference between a graph without symbols run by `make`, and op by op. `arguments` stay as they
// are. Empty also where they cannot be copied.
std::string difference_on(const Graph& graph, Inputs arguments, const MakeRun& make);

struct Reproduction {
  Graph graph;
  std::vector<Tensor> arguments;
  std::string difference;
};
// Leaves out what is not needed for a difference: results and writes but one, nodes after it, and nodes
// before it, whose results become arguments; then takes simpler arguments. Nothing when the graph,
// functionalized, shows none.
std::optional<Reproduction> reduce(const Graph& captured, Inputs arguments, const MakeRun& make);

// A program that shows the difference (`check`).
std::string program_of(const Reproduction& found, const std::string& backend);

}  // namespace kiln::jit

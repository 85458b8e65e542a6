// Owns finding the smallest graph on which compiled code still differs from the interpreter, and writing it
// down as a program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jit/runtime/compare.h"

namespace kiln::jit {

// What runs a graph by the backend in question, where gradients by these of its inputs are wanted.
using MakeRun = std::function<RunGraph(const Graph&, const std::vector<bool>& wanted)>;

// A graph without symbols, what it is given, and by which inputs there are gradients.
struct GraphCall {
  Graph graph;
  std::vector<Tensor> arguments;
  std::vector<bool> wanted;
};
// The first difference between a call run by `make`, and op by op: of what it gives, else of the gradients.
// The arguments stay as they are. Empty also where they cannot be copied.
std::string difference_on(const GraphCall& call, const MakeRun& make);

struct Reproduction {
  GraphCall call;
  std::string difference;
};
// Leaves out what is not needed for a difference: results and writes but one, nodes after it, and nodes
// before it, whose results become arguments; then takes simpler arguments. Nothing when the graph,
// functionalized, shows none.
std::optional<Reproduction> reduce(const GraphCall& captured, const MakeRun& make);

// A program that shows the difference (`check`).
std::string program_of(const Reproduction& found, const std::string& backend);

}  // namespace kiln::jit

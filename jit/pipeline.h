// Owns the order of passes: what runs, why there, and what came of each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/graph.h"

namespace kiln::jit {

struct Pass {
  std::string_view name;
  std::string_view summary;  // what it does, for the prompt
  std::string_view why;      // why it sits where it does
  Graph (*run)(Graph);
  bool is_of_ops = false;  // of graphs that run op by op alone
};

// All passes, in the order in which they run.
std::span<const Pass> passes();
const Pass* find_pass(std::string_view name);  // null when there is none

struct StageResult {
  const Pass* pass;
  Graph graph;
  double seconds;
};
// Runs the named passes, in the order given, and keeps what each made. With `checked`, verifies the graph
// before the first and after each. Throws InternalError for a name that is none.
std::vector<StageResult> run_passes(const Graph& graph, std::span<const std::string_view> names,
                                    bool checked);
// All of them that graphs go through before kernels are found.
std::vector<StageResult> run_pipeline(const Graph& graph, bool checked);

// What the last of them gives, for those who only run it.
Graph passed(Graph graph, std::span<const std::string_view> names);
// All of them before kernels, in two: up to the graph without writes, which throws OpError (Capture) where
// there is none, and what computes the same in fewer steps.
Graph without_writes(Graph captured);
Graph before_kernels(Graph functional);

}  // namespace kiln::jit

// Owns the names of what a function in source of the language has: words that differ and mean nothing else.
#pragma once

#include <set>
#include <string>

#include "jit/graph/graph.h"

namespace kiln::interp::host {

class LocalNames {
 public:
  // Names of the graph's ops are taken, and those of dtypes and of what sources call by themselves.
  explicit LocalNames(const jit::Graph& graph);
  // The wanted name, or one like it, which is taken from then on.
  std::string take(const std::string& wanted);

 private:
  std::set<std::string> taken_;
};

}  // namespace kiln::interp::host

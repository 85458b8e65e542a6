// Owns the executable: a graph, its program, and what that is for the values of symbols, run many times.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "jit/runtime/bound_program.h"
#include "jit/runtime/program.h"

namespace kiln::jit {

// Does what `evaluate` does, at every level, but everything that is the same in all calls is done before.
// Nothing is checked of the arguments: the caller knows that they have the types of the inputs.
//
// Throws what ops throw, after releasing all values; `Progress` says of which node. All effects come
// after all nodes, and nodes of a functional graph write to nothing that existed before the call, so a node
// that fails leaves the caller's tensors as they were. Only the random state moved on: to begin anew, put it
// back.
class Executable {
 public:
  // Throws OpError when an attribute cannot be evaluated.
  static std::shared_ptr<const Executable> make(Graph graph);
  // The same for a graph that has no effects and no bases. The code releases each argument after its last
  // read.
  static std::shared_ptr<const Executable> make_taking(Graph graph);

  // Why the graph does not hold when its symbols have these values, in words; empty when it does. Found out
  // once per tuple of values.
  std::string misfit(const SymbolValues& symbols) const;

  // Throws OpError (Capture) with the misfit when there is one.
  Tensors run(Inputs arguments, const SymbolValues& symbols = {}, Progress* progress = nullptr) const;

  // Of an executable that was made taking: these are its own.
  Tensors run_taking(Tensors arguments, const SymbolValues& symbols = {}) const;

  const Graph& graph() const { return graph_; }
  // How many calls ran with addresses filled in (jit/runtime/bound_program.h).
  std::int64_t bound_calls() const { return bound_.count(); }

 private:
  using Shared = std::shared_ptr<const Specialization>;
  Executable(Graph graph, bool takes_arguments);
  Specialization specialize(const SymbolValues& symbols) const;
  Shared specialized(const SymbolValues& symbols) const;
  Tensors run(Inputs arguments, Tensors* taken, const SymbolValues& symbols, Progress& progress) const;

  Graph graph_;
  Program program_;
  bool has_collectives_;
  Shared at_hints_;  // the only one of a graph without symbols; has what all others share
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::uint64_t, Shared> known_;  // by hash of the values
  mutable Shared latest_;
  mutable BoundPrograms bound_;
};

}  // namespace kiln::jit

// Owns the executable: a graph prepared once and then run op by op through `bind`, many times.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "jit/runtime/bound_program.h"
#include "jit/runtime/program.h"

namespace kiln::jit {

// How far a run came, for whoever catches what it throws.
struct Progress {
  const Node* node = nullptr;  // the one that runs, or failed; null: none yet, or all are done
  int effects = 0;             // how many effects were carried out
};

// Does what `evaluate` does, at every level, but everything that is the same in all calls is done before.
// Nothing is checked of the arguments: the caller knows that they have the types of the inputs.
//
// Throws what ops throw, after letting go of all values; `Progress` says of which node. All effects come
// after all nodes, and nodes of a functional graph write to nothing that existed before the call, so a node
// that fails leaves the caller's tensors as they were. Only the random state moved on: to begin anew, put it
// back.
class Executable {
 public:
  // Throws OpError when an attribute cannot be evaluated.
  static std::shared_ptr<const Executable> make(Graph graph);
  // Likewise, of a graph without effects and bases that lets go of arguments after their last read.
  static std::shared_ptr<const Executable> make_taking(Graph graph);

  // Why the graph does not hold when its symbols have these values, in words; empty when it does. Found out
  // once per tuple of values.
  std::string misfit(const SymbolValues& symbols) const;

  // Throws OpError (Capture) with the misfit when there is one.
  Tensors run(Inputs arguments, const SymbolValues& symbols = {}, Progress* progress = nullptr) const;

  // Of an executable that was made taking: these are its own.
  Tensors run_taking(Tensors arguments, const SymbolValues& symbols = {}) const;

  const Graph& graph() const { return graph_; }
  // How many calls were replayed (jit/runtime/bound_program.h).
  std::int64_t replays() const { return bound_.count(); }

  // What depends on nothing but the values of the symbols.
  struct Prepared {
    SymbolValues symbols;
    std::string misfit;
    std::vector<const Attrs*> attrs;                // by application
    std::vector<std::unique_ptr<const Attrs>> own;  // of those that follow symbols
    std::vector<Tensor> prebuilt;
    std::vector<Dims> bases;
  };

 private:
  using Shared = std::shared_ptr<const Prepared>;
  Executable(Graph graph, bool takes_arguments);
  Prepared prepare(const SymbolValues& symbols) const;
  Shared prepared(const SymbolValues& symbols) const;

  Graph graph_;
  Program program_;
  Shared at_hints_;  // the only one of a graph without symbols; has what all others share
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::uint64_t, Shared> known_;  // by hash of the values
  mutable Shared latest_;
  mutable BoundPrograms bound_;
};

}  // namespace kiln::jit

// Owns how a captured graph runs: as kernels, with gradients that are compiled with it, as the tape sees it,
// or op by op.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

enum class Backend : std::uint8_t {
  Ops,     // op by op, gradients by the tape
  AotOps,  // op by op, with gradients made ahead of time
  Kernels,
};

// One tensor for each input; gives the outputs in order, with effects on the inputs done. Throws OpError with
// nothing done, also when the graph does not hold for these values of its symbols.
using Runner = std::function<Tensors(Inputs arguments, const SymbolValues& symbols)>;

struct CompiledGraph {
  Runner run;
  std::string note{};                            // what is to be said of it: why gradients are not compiled
  std::function<std::string()> note_of_calls{};  // says so of the calls so far
  std::function<std::size_t()> code_bytes{};     // of machine code that was made for it so far; empty: none
  // What is made behind the caller is waited for; gives why it has no kernels where there is no compiler,
  // else nothing. Throws as compile_graph does. Empty: it is made.
  std::function<std::string()> wait{};
  // Is it made? Empty: it is.
  std::function<bool()> ready{};
};
struct CompileSettings {
  Backend backend = Backend::Kernels;
  std::vector<bool> wanted{};  // by input: does it require gradients, while gradients are recorded?
  double memory_budget = 1;    // the part of what is kept for backward that may be (jit/autodiff/partition.h)
};
// Throws OpError when the graph has no functional form, when compiling was to stop (Interrupted), and where
// a pass fails that nothing runs without: that is noted (jit/passes/faults.h), and the interpreter does the
// call.
CompiledGraph compile_graph(const Graph& captured, const CompileSettings& settings);

// Of a graph that passes of the program have edited: `edited` runs in place of the functional graph of
// `captured`. Gradients are the tape's, op by op. Throws as compile_graph does.
CompiledGraph compile_edited(const Graph& captured, const Graph& edited, const CompileSettings& settings);

// For what runs a graph by means of its own: the graph without writes that it is given, and how calls of what
// it made, `run`, are let through: only where that stands for the captured graph.
Graph functional_graph(const Graph& captured);
Runner guarded(const Graph& captured, const Graph& functional, const std::vector<bool>& wanted, Runner run);

}  // namespace kiln::jit

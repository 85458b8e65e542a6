// Owns check mode: the interpreter does the call, the entry runs on copies of its graph's arguments, and the
// first difference is reported with a program that shows it.
#pragma once

#include <optional>

#include "interpreter/capture/compiled.h"
#include "jit/runtime/compare.h"

namespace kiln::interp::capture {

class Check {
 public:
  // Runs the entry's graph on copies, before the call. nullopt where there is nothing to compare: without a
  // graph, for tensors of a transform, and for a graph that fails, which leaves the call to the interpreter.
  static std::optional<Check> begin(const Entry& entry, SourceValues& found, Numbers& numbers);

  // The first difference after the call, which was recorded once more; empty: none. Nothing that was recorded
  // beyond the entry's end is compared.
  std::string difference(const Entry& entry, const Tracer::Outcome& recorded) const;

  // Reports the difference, with the smallest graph that shows it.
  void tell(Interpreter& interpreter, const CompileOptions& options, const Entry& entry,
            const std::string& difference) const;

 private:
  Entry::Arguments given_;      // the arguments of the call
  std::vector<Tensor> before_;  // copies from before the call
  SymbolValues symbols_;
  jit::Outcome compiled_;
  std::optional<jit::Requiring> requiring_;  // the tensors that require gradients after the compiled call
  // How the gradients of the entry differ from those of its graph op by op; empty: they do not.
  std::string gradients_;
};

// Reports that a compiled region ends in another state than the interpreter does.
void tell_difference(Interpreter& interpreter, const std::string& name, const std::string& difference);

// The first difference between a call of a graph by a backend and in the interpreter; empty when there is
// none.
std::string difference_of(Interpreter& interpreter, const CompileOptions& options, const jit::Graph& captured,
                          Inputs arguments);

}  // namespace kiln::interp::capture

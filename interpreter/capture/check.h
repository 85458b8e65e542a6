// Owns running compiled calls beside the interpreter: the call itself is the interpreter's, the entry runs on
// copies of what its graph is given, and the first difference is told with a program that shows it.
#pragma once

#include <optional>

#include "interpreter/capture/compiled.h"
#include "jit/compare.h"

namespace kiln::interp::capture {

class Check {
 public:
  // Runs the entry's graph on copies, before the call. Nothing where there is nothing to compare: no graph,
  // tensors of a transform, a graph that fails, which leaves the call to the interpreter.
  static std::optional<Check> begin(const Entry& entry, SourceValues& found, Numbers& numbers);

  // After the call, which was recorded once more: the first difference, empty when there is none. What was
  // recorded beyond the entry's end is not compared.
  std::string difference(const Entry& entry, const Tracer::Outcome& recorded) const;

  // Says so, with the smallest graph that shows it.
  void tell(Interpreter& interpreter, const CompileOptions& options, const Entry& entry,
            const std::string& difference) const;

 private:
  Entry::Arguments given_;      // what the call works on
  std::vector<Tensor> before_;  // copies of it as it was
  jit::SymbolValues symbols_;
  jit::Outcome compiled_;
  std::optional<jit::Requiring> requiring_;  // what requires gradients after the compiled call
  std::string
      gradients_;  // how those of the entry differ from those of its graph op by op; empty: they do not
};

// Says that a compiled region leaves something else behind than the interpreter does.
void tell_difference(Interpreter& interpreter, const std::string& name, const std::string& difference);

// The first difference between a call of a graph by a backend and in the interpreter; empty when there is
// none.
std::string difference_of(Interpreter& interpreter, const CompileOptions& options, const jit::Graph& captured,
                          Inputs arguments);

}  // namespace kiln::interp::capture

#include "interpreter/check/types_only.h"

#include <algorithm>

#include "interpreter/capture/stages.h"
#include "jit/graph/trace.h"
#include "tensor/op.h"
#include "tensor/view.h"

namespace kiln::interp::check {

namespace {

// Arithmetic on numbers of the host, as `sqrt(2.0)`, is part of what decides shapes: it is computed.
bool is_of_numbers(kiln::Inputs inputs) {
  return !inputs.empty() && std::all_of(inputs.begin(), inputs.end(), [](const kiln::Tensor& x) {
    return !x || (x.is_number() && x.has_elements());
  });
}

}  // namespace

kiln::Tensors TypeRules::run(const kiln::Op& op, kiln::Inputs inputs, const kiln::Attrs& attrs) {
  if (is_of_numbers(inputs)) {
    const kiln::SymbolicRun kernels;
    return kiln::run_eager(op, inputs, attrs);
  }
  if (op.view != nullptr) return kiln::apply_view(op, inputs[0], attrs);
  if (op.call != nullptr) return op.call(op, inputs, attrs);
  return kiln::jit::results_without_elements(op, inputs, attrs);
}

TypesOnly::TypesOnly() : run_(&rules_), compiled_before_(compiling()), generator_before_(kiln::generator()) {
  set_compiling(false);
}
TypesOnly::~TypesOnly() {
  set_compiling(compiled_before_);
  kiln::generator() = generator_before_;
}

}  // namespace kiln::interp::check

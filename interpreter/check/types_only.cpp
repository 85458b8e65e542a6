#include "interpreter/check/types_only.h"

#include "interpreter/capture/stages.h"
#include "jit/graph/trace.h"
#include "tensor/op.h"
#include "tensor/view.h"

namespace kiln::interp::check {

kiln::Tensors TypeRules::run(const kiln::Op& op, kiln::Inputs inputs, const kiln::Attrs& attrs) {
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

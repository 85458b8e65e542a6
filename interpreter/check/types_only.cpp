#include "interpreter/check/types_only.h"

#include <algorithm>

#include "interpreter/capture/stages.h"
#include "jit/graph/trace.h"
#include "tensor/op.h"
#include "tensor/view.h"

namespace kiln::interp::check {
namespace {

constexpr std::int64_t kFewElements = 256;

bool are_few(kiln::Inputs tensors) {
  std::int64_t count = 0;
  for (const kiln::Tensor& each : tensors) count += each ? each.numel().hint() : 0;
  return count <= kFewElements;
}

// Does the op compute with elements that are all there?
bool is_of_known(const kiln::Op& op, kiln::Inputs inputs) {
  const auto is_known = [](const kiln::Tensor& x) { return !x || x.has_elements(); };
  return !inputs.empty() && !op.is_ordered() && std::all_of(inputs.begin(), inputs.end(), is_known) &&
         are_few(inputs);
}

}  // namespace

kiln::Tensors TypeRules::run(const kiln::Op& op, kiln::Inputs inputs, const kiln::Attrs& attrs) {
  if (op.view != nullptr) return kiln::apply_view(op, inputs[0], attrs);
  if (op.call != nullptr) return op.call(op, inputs, attrs);
  const bool is_known = elements_ == Elements::Known && is_of_known(op, inputs);
  kiln::Tensors results;
  try {
    results = kiln::jit::results_without_elements(op, inputs, attrs);
  } catch (const kiln::OpError& error) {
    // Sizes that depend on elements.
    if (!is_known || error.kind() != kiln::ErrorKind::Capture) throw;
  }
  if (!is_known || !are_few(results)) return results;
  const kiln::SymbolicRun kernels;
  return kiln::run_eager(op, inputs, attrs);
}

void TypeRules::write(const kiln::Op&, kiln::Inputs inputs, const kiln::Attrs&) {
  if (elements_ != Elements::Known || !inputs[0].has_elements()) return;
  kiln::Storage& storage = *inputs[0].storage();
  storage.replace(kiln::Buffer::without_memory(storage.bytes(), storage.device()));
}

TypesOnly::TypesOnly(Elements elements)
    : rules_(elements), run_(&rules_), compiled_before_(compiling()), generator_before_(kiln::generator()) {
  set_compiling(false);
}
TypesOnly::~TypesOnly() {
  set_compiling(compiled_before_);
  kiln::generator() = generator_before_;
}

}  // namespace kiln::interp::check

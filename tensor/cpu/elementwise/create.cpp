// Kernels of the rows that make tensors from sizes and numbers.
#include "tensor/ops/create.h"

#include <algorithm>
#include <type_traits>

#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/ops/rules.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

// ---- One number everywhere -------------------------------------------------------------------------------

// Rows that lower to a fill: the number is the row's, or the first operand.
void filled(const Op& op, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  const auto& fill_of = *op.lowering.as<lowering::Fill>();
  if (fill_of.number) return fill(outputs[0], Tensor::number(*fill_of.number));
  rules::check_fits(inputs[0], outputs[0].dtype(), op.name(), 0);
  fill(outputs[0], Tensor::alias(inputs[0], Layout{{}, {}, inputs[0].offset()}));
}

void filled_by_attribute(const Op& op, const Attrs& attrs, Inputs, Outputs outputs, Stream&) {
  const Tensor number = rules::number_attr(attrs.at("fill_value"));
  rules::check_fits(number, outputs[0].dtype(), op.name());
  fill(outputs[0], number);
}

void uninitialized(const Op&, const Attrs&, Inputs, Outputs, Stream&) {}

void eye(const Op&, const Attrs&, Inputs, Outputs outputs, Stream&) {
  const Tensor& result = outputs[0];
  fill(result, Tensor::number(false));
  const Layout diagonal{{std::min(result.size(0), result.size(1))}, {result.size(1) + 1}, 0};
  fill(Tensor::alias(result, diagonal), Tensor::number(true));
}

// ---- Ranges ----------------------------------------------------------------------------------------------

// Fills a line with the elements of a range, computed in i64 or f64 and then cast.
template <class Range>
void line(const Tensor& result, const Range& range) {
  using Wide = decltype(element_at(range, 0));
  const Tensor wide = computed_in(result, std::is_same_v<Wide, double> ? DType::F64 : DType::I64);
  Wide* out = wide.writable<Wide>();
  parallel_for(wide.numel(), 1 << 15, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) out[i] = element_at(range, i);
  });
  finish(result, wide);
}

void arange(const Op&, const Attrs& attrs, Inputs, Outputs outputs, Stream&) {
  std::visit([&](const auto& range) { line(outputs[0], range); }, range_of(attrs, outputs[0].dtype()));
}

void linspace(const Op&, const Attrs& attrs, Inputs, Outputs outputs, Stream&) {
  std::visit([&](const auto& range) { line(outputs[0], range); }, spacing_of(attrs, outputs[0]));
}

}  // namespace

void add_create_kernels(Column& column) {
  for (const Op* const op : OpTable::get().ops()) {
    if (op->lowering.as<lowering::Fill>() != nullptr) column.add(*op, {.run = filled});
  }
  for (const char* const name : {"full_like", "new_full"}) column.add(name, filled_by_attribute);
  for (const char* const name : {"empty", "empty_like", "new_empty"}) column.add(name, uninitialized);
  column.add("eye", eye);
  column.add("arange", arange);
  column.add("linspace", linspace);
}

}  // namespace kiln::cpu

// Kernels of the rows that make tensors from sizes and numbers.
#include "tensor/ops/create.h"

#include <algorithm>
#include <cmath>

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

// Fills a line with `value(i)`, computed in i64 or f64 and then cast.
template <class Wide, class F>
void line(const Tensor& result, const F& value) {
  const Tensor wide = computed_in(result, std::is_same_v<Wide, double> ? DType::F64 : DType::I64);
  Wide* out = wide.writable<Wide>();
  parallel_for(wide.numel(), 1 << 15, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) out[i] = value(i);
  });
  finish(result, wide);
}

void arange(const Op&, const Attrs& attrs, Inputs, Outputs outputs, Stream&) {
  const Tensor& result = outputs[0];
  const Bounds bounds = bounds_of(attrs);
  if (bounds.whole()) {
    const auto start = static_cast<std::uint64_t>(int_of(bounds.start));
    const auto step = static_cast<std::uint64_t>(int_of(bounds.step));
    return line<std::int64_t>(result, [=](std::int64_t i) {
      return static_cast<std::int64_t>(start + static_cast<std::uint64_t>(i) * step);
    });
  }
  // An integer dtype has its bounds rounded toward zero before anything is added, as in NumPy and PyTorch.
  const bool rounds = is_integer(result.dtype());
  const double start = rounds ? std::trunc(rules::float_of(bounds.start)) : rules::float_of(bounds.start);
  const double step = rounds ? std::trunc(rules::float_of(bounds.step)) : rules::float_of(bounds.step);
  line<double>(result, [=](std::int64_t i) { return start + static_cast<double>(i) * step; });
}

void linspace(const Op&, const Attrs& attrs, Inputs, Outputs outputs, Stream&) {
  const Tensor& result = outputs[0];
  const double start = rules::float_of(attrs.at("start"));
  const double end = rules::float_of(attrs.at("end"));
  const std::int64_t last = result.numel() - 1;
  const double step = last > 0 ? (end - start) / static_cast<double>(last) : 0;
  // From both ends, so that both are exact.
  const auto value = [=](std::int64_t i) {
    return i <= last / 2 ? start + step * static_cast<double>(i) : end - step * static_cast<double>(last - i);
  };
  const auto* first = std::get_if<Dim>(&attrs.at("start"));
  const auto* final = std::get_if<Dim>(&attrs.at("end"));
  if (result.dtype() != DType::I64 || first == nullptr || final == nullptr)
    return line<double>(result, value);
  // A double need not hold integers that are ends.
  line<std::int64_t>(result, [=, first = first->fixed(), final = final->fixed()](std::int64_t i) {
    return i == 0 ? first : i == last ? final : static_cast<std::int64_t>(value(i));
  });
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

#include "tensor/autocast.h"

#include <algorithm>

#include "tensor/autocast_casts.h"

namespace kiln::autocast {

thread_local constinit bool is_on = false;

namespace {

thread_local constinit DType low = DType::BF16;

// Of a float of 16 or 32 bits: f64 stays what it is, and so do numbers, which raise no dtype.
bool may_convert(const Tensor& x) {
  return x && !x.is_number() &&
         (x.dtype() == DType::F32 || x.dtype() == DType::F16 || x.dtype() == DType::BF16);
}

// An op with an operand of f64 computes in f64.
bool has_double(Inputs inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const Tensor& x) {
    return x && !x.is_number() && (x.dtype() == DType::F64 || is_complex(x.dtype()));
  });
}

std::optional<DType> wanted_dtype(const Op& op, Inputs inputs) {
  const bool is_low = op.has(kLowPrecision);
  if ((!is_low && !op.has(kFullPrecision)) || has_double(inputs)) return std::nullopt;
  return is_low ? low : DType::F32;
}

// A result that is a view of a cast may be written.
void forget_shared(Inputs inputs, Inputs converted, Inputs results) {
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!inputs[k] || converted[k].is_same(inputs[k])) continue;
    for (const Tensor& each : results)
      if (each && shares_storage(each, converted[k])) forget_cast(inputs[k]);
  }
}

}  // namespace

void turn_on(DType dtype) {
  low = dtype;
  is_on = true;
}
void turn_off() { is_on = false; }

std::int64_t state() { return is_on ? 1 + static_cast<std::int64_t>(low) : 0; }
std::optional<DType> dtype_of(std::int64_t state) {
  return state == 0 ? std::nullopt : std::optional(static_cast<DType>(state - 1));
}
void restore(std::int64_t state) {
  const std::optional<DType> dtype = dtype_of(state);
  if (dtype) {
    turn_on(*dtype);
  } else {
    turn_off();
  }
}

Tensors bind(const Op& op, Inputs inputs, const Attrs& attrs) {
  const std::optional<DType> wanted = wanted_dtype(op, inputs);
  const Off within;
  if (!wanted) return kiln::bind(op, inputs, attrs);
  SmallVector<Tensor, 4> converted;
  for (const Tensor& each : inputs) converted.push_back(may_convert(each) ? cast(each, *wanted) : each);
  Tensors results = kiln::bind(op, {converted.data(), converted.size()}, attrs);
  forget_shared(inputs, {converted.data(), converted.size()}, results);
  return results;
}

}  // namespace kiln::autocast

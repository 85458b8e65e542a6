// Arithmetic of complex numbers, elementwise, and what is asked of single ones.
#include "tensor/ops/complex_parts.h"
#include "tensor/ops/complex_rules.h"

namespace kiln::complex_rules {
namespace {

using Binary = Parts (*)(const Parts&, const Parts&);

Tensors binary(Inputs inputs, Binary f) {
  const DType type = complex_result(inputs);
  return {joined(f(parts_of(inputs[0], type), parts_of(inputs[1], type)))};
}

// What holds of either part, or of both.
template <class F, class Join>
Tensors of_each(Inputs inputs, const F& f, const Join& join) {
  const Parts z = parts_of(inputs[0]);
  return {join(f(z.real), f(z.imaginary))};
}

Tensor are_equal(Inputs inputs) {
  const Parts a = parts_of(inputs[0]), b = parts_of(inputs[1]);
  const Tensor zero = Tensor::number(0.0);
  return ops::logical_and(ops::eq(a.real, b.real),
                          ops::eq(a.is_real() ? zero : a.imaginary, b.is_real() ? zero : b.imaginary));
}

Tensors of_truths(const Op& op, Inputs inputs, const Attrs& attrs) {
  SmallVector<Tensor, 2> truths;
  for (const Tensor& each : inputs) truths.push_back(ops::ne(each, Tensor::number(0.0)));
  return kiln::bind(op, {truths.data(), truths.size()}, attrs);
}

}  // namespace

Tensors add(const Op&, Inputs inputs, const Attrs&) { return binary(inputs, sum); }
Tensors sub(const Op&, Inputs inputs, const Attrs&) { return binary(inputs, difference); }
Tensors mul(const Op&, Inputs inputs, const Attrs&) { return binary(inputs, product); }
Tensors div(const Op&, Inputs inputs, const Attrs&) { return binary(inputs, quotient); }

Tensors reciprocal(const Op&, Inputs inputs, const Attrs&) {
  return {joined(quotient({Tensor::number(1.0), {}}, parts_of(inputs[0])))};
}

Tensors square(const Op&, Inputs inputs, const Attrs&) {
  const Parts z = parts_of(inputs[0]);
  return {joined(product(z, z))};
}

Tensors lerp(const Op&, Inputs inputs, const Attrs&) {
  const DType type = complex_result(inputs);
  const Parts from = parts_of(inputs[0], type), to = parts_of(inputs[1], type);
  const Parts weight = parts_of(inputs[2], type);
  if (!weight.is_real()) return {joined(sum(from, product(weight, difference(to, from))))};
  return {joined({ops::lerp(from.real, to.real, weight.real),
                  ops::lerp(from.imaginary_or_zero(), to.imaginary_or_zero(), weight.real)})};
}

Tensors abs(const Op&, Inputs inputs, const Attrs&) { return {modulus(parts_of(inputs[0]))}; }

Tensors sign(const Op&, Inputs inputs, const Attrs&) {
  const Parts z = parts_of(inputs[0]);
  const Tensor size = modulus(z);
  const Tensor divisor = ops::where(ops::eq(size, Tensor::number(0.0)), Tensor::number(1.0), size);
  return {joined({z.real / divisor, z.imaginary / divisor})};
}

Tensors eq(const Op&, Inputs inputs, const Attrs&) { return {are_equal(inputs)}; }
Tensors ne(const Op&, Inputs inputs, const Attrs&) { return {ops::logical_not(are_equal(inputs))}; }

Tensors isnan(const Op&, Inputs inputs, const Attrs&) { return of_each(inputs, ops::isnan, ops::logical_or); }
Tensors isinf(const Op&, Inputs inputs, const Attrs&) { return of_each(inputs, ops::isinf, ops::logical_or); }
Tensors isfinite(const Op&, Inputs inputs, const Attrs&) {
  return of_each(inputs, ops::isfinite, ops::logical_and);
}

Tensors logical_not(const Op& op, Inputs inputs, const Attrs& attrs) { return of_truths(op, inputs, attrs); }
Tensors logical_and(const Op& op, Inputs inputs, const Attrs& attrs) { return of_truths(op, inputs, attrs); }
Tensors logical_or(const Op& op, Inputs inputs, const Attrs& attrs) { return of_truths(op, inputs, attrs); }
Tensors logical_xor(const Op& op, Inputs inputs, const Attrs& attrs) { return of_truths(op, inputs, attrs); }

}  // namespace kiln::complex_rules

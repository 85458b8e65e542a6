// Ops of the other families on complex operands: products, reductions, random numbers.
#include <cmath>

#include "tensor/ops/complex_parts.h"
#include "tensor/ops/complex_rules.h"
#include "tensor/ops/convolution.h"
#include "tensor/ops/rules.h"

namespace kiln::complex_rules {
namespace {

Tensor one_result(const Op& op, Inputs inputs, const Attrs& attrs) {
  return kiln::bind(op, inputs, attrs)[0];
}
Tensor one_result(const Op& op, const Tensor& x, const Attrs& attrs) {
  return one_result(op, {&x, 1}, attrs);
}

// A dtype that is asked for becomes that of the parts.
Attrs of_parts(Attrs attrs) {
  for (Attr& each : attrs.values()) {
    if (auto* const dtype = std::get_if<DType>(&each)) *dtype = part_of(*dtype);
  }
  return attrs;
}

// The operand in the dtype that is asked for.
Tensor converted_operand(const Tensor& x, const Attrs& attrs) {
  const DType* const dtype = attrs.find<DType>("dtype");
  return dtype == nullptr ? x : ops::to(x, *dtype);
}

Tensor plus(const Tensor& sum, const Tensor& term, bool is_negative) {
  if (!sum) return is_negative ? -term : term;
  return is_negative ? sum - term : sum + term;
}

Parts at_places(const Parts& z, int dim, Dim start, Dim length) {
  return {ops::narrow(z.real, dim, start, length), ops::narrow(z.imaginary, dim, start, length)};
}
Parts in_a_row(const Parts& a, const Parts& b, int dim) {
  const Tensor real[] = {a.real, b.real}, imaginary[] = {a.imaginary, b.imaginary};
  return {ops::cat(real, dim), ops::cat(imaginary, dim)};
}

// Halves are multiplied until one element is left.
Parts product_along(Parts z, int dim) {
  if (z.real.size(dim) == 0) {
    Dims sizes = z.real.sizes();
    sizes[static_cast<std::size_t>(dim)] = 1;
    return {ops::ones(sizes, z.real.dtype(), z.real.device()),
            ops::zeros(sizes, z.real.dtype(), z.real.device())};
  }
  for (std::int64_t size = z.real.size(dim).fixed(); size > 1; size = z.real.size(dim).fixed()) {
    const std::int64_t half = size / 2;
    Parts products = product(at_places(z, dim, 0, half), at_places(z, dim, half, half));
    if (size % 2 == 1) products = in_a_row(products, at_places(z, dim, size - 1, 1), dim);
    z = products;
  }
  return z;
}

Tensors of_parts_drawn(const Op& op, Inputs inputs, const Attrs& attrs, double deviation) {
  SmallVector<Tensor, 1> like;
  for (const Tensor& each : inputs) like.push_back(parts_of(each).real);
  Attrs real = of_parts(attrs);
  const Inputs given(like.data(), like.size());
  const Tensor first = one_result(op, given, real), second = one_result(op, given, real);
  if (deviation == 1) return {ops::complex(first, second)};
  return {ops::complex(first * deviation, second * deviation)};
}

}  // namespace

Tensors multilinear(const Op& op, Inputs inputs, const Attrs& attrs) {
  const DType type = complex_result(inputs);
  SmallVector<Parts, 4> parts;
  SmallVector<std::size_t, 4> complex;
  SmallVector<Tensor, 4> chosen;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    parts.push_back(inputs[i] ? parts_of(inputs[i], type) : Parts{});
    if (!parts.back().is_real()) complex.push_back(i);
    chosen.push_back(parts.back().real);
  }
  const std::size_t count = complex.size();
  Parts total;
  for (std::size_t choice = 0; choice < std::size_t{1} << count; ++choice) {
    int imaginary = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const bool is_imaginary = (choice >> (count - 1 - k) & 1U) != 0;
      imaginary += is_imaginary ? 1 : 0;
      chosen[complex[k]] = is_imaginary ? parts[complex[k]].imaginary : parts[complex[k]].real;
    }
    const Tensor term = one_result(op, {chosen.data(), chosen.size()}, attrs);
    Tensor& sum = imaginary % 2 == 0 ? total.real : total.imaginary;
    sum = plus(sum, term, imaginary % 4 >= 2);
  }
  return {joined(total)};
}

Tensors convolution(const Op& op, Inputs inputs, const Attrs& attrs) {
  const Tensor factors[] = {inputs[0], inputs[1], Tensor()};
  const Tensor products = multilinear(op, factors, attrs)[0];
  return {inputs[2] ? products + ops::along_channels(inputs[2], products.rank()) : products};
}

Tensors composed(const Op& op, Inputs inputs, const Attrs& attrs) {
  const DType dtype = complex_result(inputs);
  SmallVector<TensorType, 4> types;
  for (const Tensor& each : inputs)
    types.push_back(each ? rules::with_dtype(each.type(), dtype)
                         : TensorType{DType::Bool, Device{}, {}, true});
  op.infer({types.data(), types.size()}, attrs);
  return op.decompose(op, inputs, attrs);
}

Tensors linear(const Op&, Inputs inputs, const Attrs&) {
  const Tensor product =
      ops::matmul(inputs[0], inputs[1].rank() > 1 ? ops::transpose(inputs[1], 0, 1) : inputs[1]);
  return {inputs[2] ? product + inputs[2] : product};
}

Tensors prod(const Op&, Inputs inputs, const Attrs& attrs) {
  const Tensor x = converted_operand(inputs[0], attrs);
  const bool keepdim = attrs.get<bool>("keepdim");
  const Dims* const asked = attrs.find<Dims>("dim");
  Parts z = parts_of(x);
  if (z.is_real()) z.imaginary = z.imaginary_or_zero();
  Dims dims;
  if (asked != nullptr && !asked->empty()) {
    dims = wrap_dims(*asked, x.rank(), "prod");
  } else {
    for (int d = 0; d < x.rank(); ++d) dims.push_back(d);
  }
  if (x.rank() == 0) return {ops::clone(x)};
  for (const Dim dim : dims) z = product_along(z, static_cast<int>(dim.known()));
  if (keepdim) return {joined(z)};
  return {joined({ops::squeeze(z.real, dims), ops::squeeze(z.imaginary, dims)})};
}

// Each round multiplies every element by the one as far before it as rounds have reached.
Tensors cumprod(const Op&, Inputs inputs, const Attrs& attrs) {
  const Tensor x = converted_operand(inputs[0], attrs);
  const int dim = rules::dim_attr(attrs, "dim", x.rank());
  if (x.rank() == 0) return {ops::clone(x)};
  Parts z = parts_of(x);
  if (z.is_real()) z.imaginary = z.imaginary_or_zero();
  const std::int64_t size = x.size(dim).fixed();
  for (std::int64_t step = 1; step < size; step *= 2) {
    const Parts moved = product(at_places(z, dim, step, size - step), at_places(z, dim, 0, size - step));
    z = in_a_row(at_places(z, dim, 0, step), moved, dim);
  }
  return {joined(z)};
}

Tensors var(const Op& op, Inputs inputs, const Attrs& attrs) {
  const Parts z = parts_of(inputs[0]);
  return {one_result(op, z.real, attrs) + one_result(op, z.imaginary, attrs)};
}
Tensors std(const Op& op, Inputs inputs, const Attrs& attrs) {
  const Parts z = parts_of(inputs[0]);
  return {ops::hypot(one_result(op, z.real, attrs), one_result(op, z.imaginary, attrs))};
}

Tensors of_truth(const Op& op, Inputs inputs, const Attrs& attrs) {
  const Tensor truth = ops::ne(inputs[0], Tensor::number(0.0));
  return kiln::bind(op, {&truth, 1}, attrs);
}

Tensors of_sizes(const Op& op, Inputs inputs, const Attrs& attrs) {
  return {one_result(op, ops::abs(inputs[0]), of_parts(attrs))};
}

Tensors cast(const Op&, Inputs inputs, const Attrs& attrs) {
  const DType dtype = attrs.get<DType>("dtype");
  if (!is_complex(dtype)) {
    throw OpError(ErrorKind::DType,
                  "to: each element of a " + to_string(inputs[0].type()) + " has two parts, and a " +
                      std::string(name(dtype)) + " holds one number",
                  {0}, "take a part or the absolute value: z.real(), z.imag(), z.abs()");
  }
  return {joined(parts_of(inputs[0], dtype))};
}

Tensors converted(const Op& op, Inputs inputs, const Attrs& attrs) {
  return {ops::to(one_result(op, inputs, of_parts(attrs)), attrs.get<DType>("dtype"))};
}

Tensors uniform_parts(const Op& op, Inputs inputs, const Attrs& attrs) {
  return of_parts_drawn(op, inputs, attrs, 1);
}
Tensors normal_parts(const Op& op, Inputs inputs, const Attrs& attrs) {
  return of_parts_drawn(op, inputs, attrs, std::sqrt(0.5));
}

}  // namespace kiln::complex_rules

#include "tensor/complex_bind.h"

#include <algorithm>

#include "tensor/functions.h"
#include "tensor/operand_types.h"
#include "tensor/ops/complex_parts.h"
#include "tensor/ops/pointwise.h"

namespace kiln {
namespace {

constexpr std::string_view kWaysOut = "take a part or the absolute value: z.real(), z.imag(), z.abs()";

bool is_complex_tensor(const Tensor& x) { return x && is_complex(x.dtype()); }

bool asks_for_complex(const Attrs& attrs) {
  return std::any_of(attrs.values().begin(), attrs.values().end(), [](const Attr& each) {
    const auto* const dtype = std::get_if<DType>(&each);
    return dtype != nullptr && is_complex(*dtype);
  });
}

std::size_t complex_operand(Inputs inputs) {
  return static_cast<std::size_t>(std::find_if(inputs.begin(), inputs.end(), is_complex_tensor) -
                                  inputs.begin());
}

[[noreturn]] void refuse(const Op& op, Inputs inputs) {
  const std::string why =
      op.complex.missing.empty() ? "it takes real numbers" : std::string(op.complex.missing);
  const std::size_t i = complex_operand(inputs);
  if (i == inputs.size()) {
    throw OpError(ErrorKind::DType, spoken_name(op) + ": it makes no complex numbers", {},
                  "make real ones and convert them: x.to(c64)");
  }
  throw OpError(ErrorKind::DType, spoken_name(op) + ": " + why + ", got a " + to_string(inputs[i].type()),
                {static_cast<int>(i)}, std::string(kWaysOut));
}

[[noreturn]] void refuse_result(const Op& op, Inputs inputs, DType result) {
  const std::size_t i = complex_operand(inputs);
  throw OpError(ErrorKind::DType,
                spoken_name(op) + ": a " + to_string(inputs[i].type()) +
                    " has two parts for each element, and " + std::string(name(result)) + " holds one number",
                {static_cast<int>(i)}, std::string(kWaysOut) + "; or convert the other operand: x.to(c64)");
}

// A complex number of the host program as a tensor: what moves elements has kernels for tensors and real
// numbers.
Tensor as_tensor(const Tensor& number, DType complex) {
  const Parts parts = parts_of(number);
  const DType part = part_of(complex);
  return ops::complex(ops::full({}, parts.real, part), ops::full({}, parts.imaginary, part));
}

// Real tensors beside complex ones become complex, but for those that say where.
SmallVector<Tensor, 4> converted(const Op& op, Inputs inputs) {
  SmallVector<Tensor, 4> made(inputs.begin(), inputs.end());
  if (complex_operand(inputs) == inputs.size()) return made;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Tensor& x = inputs[i];
    if (!x || op.complex.is_beside(i)) continue;
    if (x.is_number() && is_complex(x.dtype())) {
      const bool is_alone = inputs.size() == 1;
      made[i] = as_tensor(x, is_alone ? complex_of(default_float()) : complex_result(inputs));
    } else if (!x.is_number() && !is_complex(x.dtype())) {
      made[i] = ops::to(x, complex_of(x.dtype()));
    }
  }
  return made;
}

// A result of real numbers would have lost a part.
void check_kept(const Op& op, Inputs inputs, const Attrs& attrs) {
  if (op.view_dtype != nullptr || complex_operand(inputs) == inputs.size()) return;
  SmallVector<TensorType, 4> types;
  for (const Tensor& each : inputs)
    types.push_back(each ? each.type() : TensorType{DType::Bool, Device{}, {}, true});
  put_numbers_beside({types.data(), types.size()});
  for (const TensorType& result : op.infer({types.data(), types.size()}, attrs)) {
    if (!is_complex(result.dtype)) refuse_result(op, inputs, result.dtype);
  }
}

// Two applications: on the real parts and on the imaginary parts of the values, with the rest as it is.
Tensors by_parts(const Op& op, Inputs inputs, const Attrs& attrs) {
  SmallVector<Tensor, 4> values;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!op.complex.is_beside(i)) values.push_back(inputs[i]);
  const bool is_first = op.pointwise != nullptr && op.pointwise->rule == TypeRule::First;
  if (is_first && !is_complex(inputs[0].dtype())) refuse_result(op, inputs, inputs[0].dtype());
  const DType type = complex_result({values.data(), values.size()});
  SmallVector<Tensor, 4> real, imaginary;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || op.complex.is_beside(i)) {
      real.push_back(inputs[i]);
      imaginary.push_back(inputs[i]);
      continue;
    }
    const Parts parts = parts_of(inputs[i], type);
    real.push_back(parts.real);
    imaginary.push_back(parts.imaginary_or_zero());
  }
  Attrs of_parts = attrs;
  for (Attr& each : of_parts.values()) {
    auto* const dtype = std::get_if<DType>(&each);
    if (dtype == nullptr) continue;
    if (!is_complex(*dtype)) refuse_result(op, inputs, *dtype);
    *dtype = part_of(*dtype);
  }
  const Tensors first = kiln::bind(op, {real.data(), real.size()}, of_parts);
  const Tensors second = kiln::bind(op, {imaginary.data(), imaginary.size()}, of_parts);
  Tensors results;
  for (std::size_t k = 0; k < first.size(); ++k) results.push_back(ops::complex(first[k], second[k]));
  return results;
}

}  // namespace

bool is_of_complex(const Op& op, Inputs inputs, const Attrs& attrs) {
  return op.id >= 0 &&
         (std::any_of(inputs.begin(), inputs.end(), is_complex_tensor) || asks_for_complex(attrs));
}

ComplexCall run_complex(const Op& op, Inputs inputs, const Attrs& attrs) {
  switch (op.complex.kind) {
    case ComplexRule::Moves: {
      check_kept(op, inputs, attrs);
      return {true, converted(op, inputs), {}};
    }
    case ComplexRule::Computes:
      return {true, converted(op, inputs), {}};
    case ComplexRule::PartByPart:
      return {false, {}, by_parts(op, inputs, attrs)};
    case ComplexRule::Written:
      return {false, {}, op.complex.body(op, inputs, attrs)};
    case ComplexRule::Refused:
      break;
  }
  refuse(op, inputs);
}

}  // namespace kiln

#include "tensor/ops/pointwise.h"

#include <algorithm>
#include <limits>

#include "tensor/compute.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/scalar.h"

namespace kiln {
namespace {

// PyTorch's combine_categories: the lower one only matters across categories.
std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher || !lower) return higher ? higher : lower;
  if (is_complex(*higher)) return higher;
  if (is_float(*higher)) return is_complex(*lower) ? complex_of(*higher) : *higher;
  if (*higher == DType::Bool || is_differentiable(*lower)) return promote(*higher, *lower);
  return higher;
}
void widen(std::optional<DType>& type, DType dtype) { type = type ? promote(*type, dtype) : dtype; }

[[noreturn]] void refuse(const Op& op, DType dtype, std::string_view what, std::string_view help) {
  throw OpError(ErrorKind::DType,
                spoken_name(op) + ": " + std::string(what) + ", got " + std::string(name(dtype)), {0},
                std::string(help));
}

DType as_float(DType dtype, bool only_numbers) {
  if (is_float(dtype)) return dtype;
  return only_numbers ? DType::F64 : default_float();
}

const Pointwise& row_of(const Op& op) { return *op.pointwise; }

// Sizes of the result. One operand after the other, so that an error names two that do not fit.
Dims broadcast_all(const Op& op, std::span<const std::span<const Dim>> shapes) {
  Dims sizes(shapes[0].begin(), shapes[0].end());
  for (std::size_t i = 1; i < shapes.size(); ++i) {
    if (same(sizes, shapes[i])) continue;
    sizes = broadcast(sizes, shapes[i], spoken_name(op));
  }
  return sizes;
}

void check_mask(const Op& op, int index, DType dtype) {
  if (dtype == DType::Bool) return;
  throw OpError(ErrorKind::DType,
                spoken_name(op) + ": the " + op.signature.parameters[static_cast<std::size_t>(index)].name +
                    " must be bool, got " + std::string(name(dtype)),
                {index}, "compare, as in x != 0");
}

double word_value(const Op& op, const Parameter& parameter, const std::string& word) {
  std::string known;
  for (std::size_t i = 0; i < parameter.words.size(); ++i) {
    if (parameter.words[i] == word) return static_cast<double>(i);
    known += (i > 0 ? ", \"" : "\"") + parameter.words[i] + "\"";
  }
  throw OpError(ErrorKind::Value, spoken_name(op) + ": " + parameter.name + " cannot be \"" + word + "\"", {},
                "it is one of " + known);
}

// A number that is computed with: it is given whatever the operands are, as a factor is.
bool is_computed_with(const Parameter& parameter) {
  return parameter.kind == ArgKind::Number && !parameter.optional;
}

void set_param(Params& params, std::size_t i, const Op& op, const Parameter& parameter, const Attr& attr,
               DType promoted) {
  const bool in_integers = is_computed_with(parameter) && !is_float(promoted);
  const auto set_integer = [&](std::int64_t value) {
    if (in_integers)
      rules::check_fits(Tensor::number(value), promoted, spoken_name(op) + ": " + parameter.name);
    params.v[i] = static_cast<double>(value);
    params.n[i] = value;
    params.integers |= 1U << i;
  };
  params.v[i] = std::numeric_limits<double>::quiet_NaN();
  if (const auto* whole = std::get_if<Dim>(&attr)) set_integer(*whole);
  if (const auto* flag = std::get_if<bool>(&attr)) set_integer(*flag ? 1 : 0);
  const auto* word = std::get_if<std::string>(&attr);
  if (word != nullptr && !parameter.words.empty()) params.v[i] = word_value(op, parameter, *word);
  if (const auto* real = std::get_if<double>(&attr)) {
    if (in_integers) {
      throw OpError(ErrorKind::DType, spoken_name(op) + ": " + parameter.name + " must be an int for " +
                                          std::string(name(promoted)) + " operands");
    }
    params.v[i] = *real;
  }
}

}  // namespace

std::string failure_of(const Op& op, const Attrs& attrs) {
  for (const Parameter& parameter : op.signature.parameters) {
    if (parameter.name == "message") return attrs.get<std::string>("message");
  }
  return spoken_name(op) + ": " + std::string(row_of(op).failure);
}

bool must_fit(const Pointwise& row, int operand, const Tensor& number) {
  if (operand == row.mask) return false;
  const bool is_lower = (row.flags & at_least(operand)) != 0, is_upper = (row.flags & at_most(operand)) != 0;
  if (!is_lower && !is_upper) return true;
  return is_lower ? number.item_float() > 0 : number.item_float() < 0;
}

DType promote_operands(std::span<const OperandType> operands, bool only_numbers) {
  const auto is_like_first = [&](const OperandType& each) {
    return each.dtype == operands[0].dtype && !each.is_number;
  };
  if (std::all_of(operands.begin(), operands.end(), is_like_first)) return operands[0].dtype;
  std::optional<DType> with_dims, zero_dim, numbers;
  for (const OperandType& operand : operands) {
    const bool weak = operand.is_number && is_differentiable(operand.dtype) && !only_numbers;
    const DType of_number = is_complex(operand.dtype) ? complex_of(default_float()) : default_float();
    widen(operand.is_number  ? numbers
          : operand.has_dims ? with_dims
                             : zero_dim,
          weak ? of_number : operand.dtype);
  }
  return *combine(with_dims, combine(zero_dim, numbers));
}

PointwiseTypes pointwise_types(const Op& op, std::span<const OperandType> operands, bool only_numbers,
                               const Attrs& attrs) {
  DType promoted = promote_operands(operands, only_numbers);
  TypeRule rule = row_of(op).rule;
  if (rule == TypeRule::Quotient) {
    const bool rounds = !attrs.values().empty() && !std::holds_alternative<std::monostate>(attrs.values()[0]);
    rule = rounds ? TypeRule::Arithmetic : TypeRule::Float;
  }
  switch (rule) {
    case TypeRule::Arithmetic:
      if (promoted == DType::Bool)
        refuse(op, promoted, "bools have no such arithmetic", "convert first: x.to(i64)");
      break;
    case TypeRule::Difference:
      for (const OperandType& operand : operands) {
        if (operand.dtype == DType::Bool)
          refuse(op, DType::Bool, "bools have no difference",
                 "convert first: x.to(i64); or invert a mask: ~x");
      }
      break;
    case TypeRule::Float:
      promoted = as_float(promoted, only_numbers);
      break;
    case TypeRule::Bitwise:
      if (is_float(promoted)) refuse(op, promoted, "only bools and integers have bits", "");
      break;
    case TypeRule::Integer:
      if (!is_integer(promoted)) refuse(op, promoted, "the operands must be integers", "");
      break;
    case TypeRule::First:
      promoted = operands[0].dtype;
      break;
    case TypeRule::Same:
    case TypeRule::Predicate:
    case TypeRule::Quotient:
      break;
  }
  return {promoted, rule == TypeRule::Predicate ? DType::Bool : promoted, compute_of(promoted)};
}

Params pointwise_params(const Op& op, const Attrs& attrs, DType promoted) {
  Params params;
  params.largest = rules::largest_float(promoted);
  params.bits = promoted == DType::Bool ? 1 : static_cast<int>(size_of(promoted)) * 8;
  std::size_t index = 0;
  for (const Parameter& parameter : op.signature.parameters) {
    if (parameter.kind <= ArgKind::OptionalTensorList) continue;
    set_param(params, index, op, parameter, attrs.values()[index], promoted);
    ++index;
  }
  return params;
}

std::vector<TensorType> pointwise_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const Op& op = *attrs.op();
  const Pointwise& row = row_of(op);
  OperandType types[3];
  std::span<const Dim> shapes[3];
  std::size_t count = 0;
  bool only_numbers = true;
  Device device;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    shapes[i] = inputs[i].sizes;
    only_numbers = only_numbers && inputs[i].is_number;
    if (!inputs[i].is_number) device = inputs[i].device;
    if (static_cast<int>(i) == row.mask) {
      check_mask(op, row.mask, inputs[i].dtype);
      continue;
    }
    types[count++] = {inputs[i].dtype, inputs[i].is_number, !inputs[i].sizes.empty()};
  }
  const PointwiseTypes result = pointwise_types(op, {types, count}, only_numbers, attrs);
  pointwise_params(op, attrs, result.promoted);  // refuses those that do not go with the dtype
  return {{result.result, device, broadcast_all(op, {shapes, inputs.size()}), only_numbers}};
}

Tensor pointwise_output(const Op& op, Inputs inputs, const Attrs& attrs) {
  const Pointwise& row = row_of(op);
  OperandType types[3];
  std::span<const Dim> shapes[3];
  std::size_t count = 0, shape_count = 0;
  bool only_numbers = true;
  Device device;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = inputs[i];
    if (!x) continue;
    shapes[shape_count++] = x.sizes();
    if (!x.is_number()) {
      only_numbers = false;
      device = x.device();
    }
    if (static_cast<int>(i) == row.mask) {
      check_mask(op, row.mask, x.dtype());
      continue;
    }
    types[count++] = {x.dtype(), x.is_number(), x.rank() > 0};
  }
  const DType result = pointwise_types(op, {types, count}, only_numbers, attrs).result;
  Tensor output = Tensor::empty(broadcast_all(op, {shapes, shape_count}), result, device);
  output.impl()->is_number = only_numbers;
  return output;
}

}  // namespace kiln

#include "tensor/ops/pointwise.h"

#include <limits>

#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/elementwise.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/scalar.h"

namespace kiln {
namespace {

// PyTorch's combine_categories: the lower one only matters across categories.
std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher || !lower) return higher ? higher : lower;
  if (is_float(*higher)) return higher;
  if (*higher == DType::Bool || is_float(*lower)) return promote(*higher, *lower);
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
    if (std::equal(sizes.begin(), sizes.end(), shapes[i].begin(), shapes[i].end())) continue;
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

void check_devices(const Op& op, Inputs inputs) {
  const Device device = inputs[0].device();
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (!inputs[i] || inputs[i].is_number() || inputs[i].device() == device || inputs[0].is_number())
      continue;
    throw OpError(ErrorKind::Device,
                  spoken_name(op) + ": one operand is on " + to_string(device) + ", the other on " +
                      to_string(inputs[i].device()),
                  {0, static_cast<int>(i)}, "move one with x.to(\"" + to_string(device) + "\")");
  }
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
  if (const auto* whole = std::get_if<std::int64_t>(&attr)) set_integer(*whole);
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

// What is known of one application before any element is touched.
struct Plan {
  PointwiseTypes types;
  Dims sizes;
  bool only_numbers = true;
  cpu::Operand operands[3];
};

// An operand left out changes nothing: the least bound below, the greatest above.
double absent_bound(int index) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  return index == 1 ? -kInf : kInf;
}

void check_numbers(const Op& op, Inputs inputs, DType dtype) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const int at = static_cast<int>(i);
    if (inputs[i] && inputs[i].is_number() && must_fit(row_of(op), at, inputs[i]))
      rules::check_fits(inputs[i], dtype, spoken_name(op), at);
  }
}

Plan plan_of(const Op& op, Inputs inputs, const Attrs& attrs) {
  const Pointwise& row = row_of(op);
  Plan plan;
  OperandType types[3];
  std::span<const Dim> shapes[3];
  std::size_t count = 0, shape_count = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = inputs[i];
    if (!x) {
      plan.operands[i].absent = absent_bound(static_cast<int>(i));
      continue;
    }
    plan.operands[i].tensor = &x;
    shapes[shape_count++] = x.sizes();
    plan.only_numbers = plan.only_numbers && x.is_number();
    if (static_cast<int>(i) == row.mask) {
      check_mask(op, row.mask, x.dtype());
      plan.operands[i].as_bool = true;
      continue;
    }
    types[count++] = {x.dtype(), x.is_number(), x.rank() > 0};
  }
  check_devices(op, inputs);
  plan.types = pointwise_types(op, {types, count}, plan.only_numbers, attrs);
  if (numbers_must_fit(row, plan.types.promoted)) check_numbers(op, inputs, plan.types.promoted);
  plan.sizes = broadcast_all(op, {shapes, shape_count});
  return plan;
}

// The row of the shortest body that gives the same bits: how a quotient is rounded is known here.
int shortest_row(const Pointwise& row, const Params& params) {
  if (row.row != kRow_div_rounded) return row.row;
  const double mode = params.v[0];
  return mode == math::kFloorMode ? kRow_floor_div : mode == math::kTruncMode ? kRow_trunc_div : kRow_div;
}

void run(const Op& op, const Plan& plan, std::size_t count, const Attrs& attrs, const Tensor& output) {
  const Pointwise& row = row_of(op);
  const Params params = pointwise_params(op, attrs, plan.types.promoted);
  const cpu::ElementwiseJob job{
      .kernels = cpu::kernel_table().rows[shortest_row(row, params)],
      .compute = plan.types.compute,
      .predicate = row.rule == TypeRule::Predicate,
      .costly = row.rule == TypeRule::Float,
      .params = &params,
  };
  if (run_elementwise(job, {plan.operands, count}, output) != 0) {
    throw OpError(ErrorKind::Value, failure_of(op, attrs), {1});
  }
}

void check_some_bound(const Op& op, Inputs inputs) {
  if (inputs.size() < 3 || inputs[1] || inputs[2]) return;
  throw OpError(ErrorKind::Value, spoken_name(op) + ": give min, max or both");
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
  std::optional<DType> with_dims, zero_dim, numbers;
  for (const OperandType& operand : operands) {
    const bool weak = operand.is_number && is_float(operand.dtype) && !only_numbers;
    widen(operand.is_number  ? numbers
          : operand.has_dims ? with_dims
                             : zero_dim,
          weak ? default_float() : operand.dtype);
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
      if (!is_integer(promoted)) refuse(op, promoted, "only integers can be shifted", "");
      break;
    case TypeRule::First:
      promoted = operands[0].dtype;
      break;
    case TypeRule::Same:
    case TypeRule::Predicate:
    case TypeRule::Quotient:
      break;
  }
  return {promoted, rule == TypeRule::Predicate ? DType::Bool : promoted, cpu::compute_of(promoted)};
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

namespace {

// A float cast to bool is true unless it is 0; the arithmetic of bools is that of integers, where 0.5 would
// be 0.
bool casts_to_bool(const Op& op, Inputs inputs) {
  if (row_of(op).rule != TypeRule::First || inputs[0].dtype() != DType::Bool) return false;
  return std::any_of(inputs.begin(), inputs.end(), [](const Tensor& x) { return is_float(x.dtype()); });
}
Tensors with_bools(Inputs inputs) {
  Tensors result(inputs.begin(), inputs.end());
  for (Tensor& x : result)
    if (is_float(x.dtype())) x = cpu::contiguous_copy(x, DType::Bool);
  return result;
}

// Numbers have none of their own: the host has them.
Device device_of(Inputs inputs) {
  for (const Tensor& each : inputs)
    if (each && !each.is_number()) return each.device();
  return {};
}

}  // namespace

Tensors pointwise_eager(const Op& op, Inputs inputs, const Attrs& attrs) {
  if (casts_to_bool(op, inputs)) return pointwise_eager(op, with_bools(inputs), attrs);
  check_some_bound(op, inputs);
  const Plan plan = plan_of(op, inputs, attrs);
  Tensor output = Tensor::empty(plan.sizes, plan.types.result, device_of(inputs));
  output.impl()->is_number = plan.only_numbers;
  run(op, plan, inputs.size(), attrs, output);
  return {std::move(output)};
}

// Ops that are not defined everywhere leave the output alone when they fail.
void pointwise_into(const Op& op, Inputs inputs, const Attrs& attrs, const Tensor& output) {
  if (!row_of(op).failure.empty()) return cpu::copy(output, pointwise_eager(op, inputs, attrs)[0]);
  if (casts_to_bool(op, inputs)) return pointwise_into(op, with_bools(inputs), attrs, output);
  check_some_bound(op, inputs);
  run(op, plan_of(op, inputs, attrs), inputs.size(), attrs, output);
}

}  // namespace kiln

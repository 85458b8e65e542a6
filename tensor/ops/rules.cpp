#include "tensor/ops/rules.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace kiln::rules {

Tensors apply(const Op& op, Inputs inputs, std::initializer_list<Attr> attrs) {
  Attrs values(op);
  std::copy(attrs.begin(), attrs.end(), values.values().begin());
  return kiln::bind(op, inputs, values);
}

Tensor apply_one(const Op& op, Inputs inputs, std::initializer_list<Attr> attrs) {
  return std::move(apply(op, inputs, attrs).front());
}

Tensor apply_one(const Op& op, std::initializer_list<Tensor> inputs, std::initializer_list<Attr> attrs) {
  return apply_one(op, Inputs(inputs.begin(), inputs.size()), attrs);
}

Layout contiguous_layout(std::span<const Dim> sizes) {
  return {to_dims(sizes), contiguous_strides(sizes), 0};
}

Dims prepend(Dim size, std::span<const Dim> sizes) {
  Dims result{size};
  result.append(sizes.begin(), sizes.end());
  return result;
}

TensorType with_sizes(const TensorType& type, Dims sizes) {
  return {type.dtype, type.device, std::move(sizes)};
}

TensorType with_dtype(TensorType type, DType dtype) {
  type.dtype = dtype;
  type.is_number = false;
  return type;
}

int dim_attr(const Attrs& attrs, std::string_view name, int rank) {
  return wrap_dim(attrs.get<std::int64_t>(name), rank, attrs.op()->name());
}

Attrs shift_dim(const Attrs& attrs, std::string_view name, int rank) {
  Attrs shifted = attrs;
  shifted.set(name, std::int64_t{dim_attr(attrs, name, rank) + 1});
  return shifted;
}

DType dtype_attr(const Attrs& attrs, DType otherwise) {
  const DType* dtype = attrs.find<DType>("dtype");
  return dtype ? *dtype : otherwise;
}

Device device_attr(const Attrs& attrs, Device otherwise) {
  const Device* device = attrs.find<Device>("device");
  return device ? *device : otherwise;
}

Tensor number_attr(const Attr& attr) {
  if (const auto* flag = std::get_if<bool>(&attr)) return Tensor::number(*flag);
  if (const auto* integer = std::get_if<Dim>(&attr)) return Tensor::number(integer->fixed());
  if (const auto* real = std::get_if<double>(&attr)) return Tensor::number(*real);
  throw InternalError("a number attribute holds something else");
}

double float_of(const Attr& attr) { return number_attr(attr).item_float(); }

double largest_float(DType dtype) {
  switch (dtype) {
    case DType::F16:
      return 65504.0;
    case DType::BF16:
      return 0x1.fep127;
    case DType::F32:
      return static_cast<double>(std::numeric_limits<float>::max());
    case DType::F64:
      return std::numeric_limits<double>::max();
    default:
      return 0;
  }
}

namespace {

bool is_whole(const Tensor& number) {
  if (!is_float(number.dtype())) return true;
  const double value = number.item_float();
  return std::isfinite(value) && std::trunc(value) == value;
}

bool fits(const Tensor& number, DType dtype) {
  if (is_float(dtype)) {
    const double value = number.item_float();
    if (dtype == DType::F16 || dtype == DType::BF16) return true;
    return !std::isfinite(value) || std::abs(value) <= largest_float(dtype);
  }
  const int bits = static_cast<int>(size_of(dtype)) * 8;
  const std::int64_t high =
      dtype == DType::U8 ? 255 : static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - bits));
  const std::int64_t low = dtype == DType::U8 ? 0 : -high - 1;
  if (!is_float(number.dtype())) return number.item_int() >= low && number.item_int() <= high;
  if (!is_whole(number)) return false;
  const double whole = number.item_float();
  return whole >= static_cast<double>(low) && whole < std::ldexp(1.0, dtype == DType::U8 ? 8 : bits - 1);
}

}  // namespace

void check_fits(const Tensor& value, DType dtype, std::string_view op, int operand) {
  if (!value || !value.is_number() || dtype == DType::Bool) return;
  if (is_complex(value.dtype())) {
    const Complex<double> parts = value.item_complex();
    check_fits(Tensor::number(parts.real), part_of(dtype), op, operand);
    check_fits(Tensor::number(parts.imaginary), part_of(dtype), op, operand);
    return;
  }
  dtype = part_of(dtype);
  if (fits(value, dtype)) return;
  const std::vector<int> operands = operand < 0 ? std::vector<int>{} : std::vector<int>{operand};
  const std::string text =
      is_float(value.dtype()) ? fmt::format("{}", value.item_float()) : fmt::format("{}", value.item_int());
  if (is_integer(dtype) && !is_whole(value)) {
    throw OpError(ErrorKind::DType,
                  fmt::format("{}: {} is no integer, and the elements are {}", op, text, name(dtype)),
                  operands, "drop the fraction with int(…), or convert the tensor first: x.to(f32)");
  }
  throw OpError(ErrorKind::Overflow, fmt::format("{}: {} does not fit in {}", op, text, name(dtype)),
                operands);
}

Tensor pad_rank(const Tensor& batched, int rank) {
  Dims sizes{batched.size(0)};
  for (int missing = rank - (batched.rank() - 1); missing > 0; --missing) sizes.push_back(1);
  sizes.append(batched.sizes().begin() + 1, batched.sizes().end());
  return static_cast<int>(sizes.size()) == batched.rank() ? batched : ops::reshape(batched, sizes);
}

Tensor with_batch(const BatchArgs& args, std::size_t input) {
  const Tensor& x = args.inputs[input];
  return args.batched[input] ? x : ops::expand(x, prepend(args.batch_size, x.sizes()));
}

Layout example_layout(const Layout& batch) {
  return {Dims(batch.sizes.begin() + 1, batch.sizes.end()),
          Dims(batch.strides.begin() + 1, batch.strides.end()), batch.offset};
}

std::vector<TensorType> infer_same(std::span<const TensorType> inputs, const Attrs&) {
  return {with_dtype(inputs[0], inputs[0].dtype)};
}

Tensors jvp_linear(const JvpArgs& args) { return kiln::bind(args.op, args.tangents, args.attrs); }

Tensors batch_through(const BatchArgs& args) { return kiln::bind(args.op, args.inputs, args.attrs); }

void check_index_dtype(const TensorType& index, std::string_view op, int operand) {
  if (is_integer(index.dtype)) return;
  throw OpError(ErrorKind::DType,
                fmt::format("{}: the index must hold integers, it is {}", op, to_string(index)), {operand},
                "convert it with `.to(i64)`");
}

void index_out_of_bounds(std::int64_t index, int dim, Dim size, std::vector<int> operands) {
  throw OpError(ErrorKind::Index,
                fmt::format("index {} is out of bounds for dimension {} with size {}", index, dim, size),
                std::move(operands));
}

}  // namespace kiln::rules

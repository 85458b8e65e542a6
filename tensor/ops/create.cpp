// Tensors made from sizes and numbers.
#include <fmt/format.h>

#include <cmath>

#include "tensor/onnx/rules.h"
#include "tensor/ops/complex_rules.h"
#include "tensor/ops/create.h"
#include "tensor/ops/rules.h"

namespace kiln {

void add_create_matrix_ops(OpTable& table);

bool Bounds::whole() const {
  const auto is_float = [](const Attr& attr) { return std::holds_alternative<double>(attr); };
  return !is_float(start) && !is_float(end) && !is_float(step);
}

Bounds bounds_of(const Attrs& attrs) {
  if (!attrs.has("end")) return {std::int64_t{0}, attrs.at("start"), attrs.at("step")};
  return {attrs.at("start"), attrs.at("end"), attrs.at("step")};
}

std::int64_t int_of(const Attr& attr) { return rules::number_attr(attr).item_int(); }

std::variant<WholeRange, RealRange> range_of(const Attrs& attrs, DType dtype) {
  const Bounds bounds = bounds_of(attrs);
  if (bounds.whole()) return WholeRange{int_of(bounds.start), int_of(bounds.step)};
  // An integer dtype has its bounds rounded toward zero before anything is added, as in NumPy and PyTorch.
  const auto bound = [&](const Attr& attr) {
    return is_integer(dtype) ? std::trunc(rules::float_of(attr)) : rules::float_of(attr);
  };
  return RealRange{bound(bounds.start), bound(bounds.step)};
}

std::variant<RealSpacing, WholeSpacing> spacing_of(const Attrs& attrs, const Tensor& result) {
  const Attr &start = attrs.at("start"), &end = attrs.at("end");
  RealSpacing spacing{rules::float_of(start), rules::float_of(end), 0, result.numel().fixed() - 1};
  if (spacing.last > 0) spacing.step = (spacing.end - spacing.start) / static_cast<double>(spacing.last);
  const Dim *first = std::get_if<Dim>(&start), *final = std::get_if<Dim>(&end);
  if (result.dtype() != DType::I64 || first == nullptr || final == nullptr) return spacing;
  return WholeSpacing{spacing, first->fixed(), final->fixed()};
}

namespace {

using rules::apply_one;
using rules::device_attr;
using rules::dtype_attr;

constexpr std::string_view kNoInputs = "it has no tensor inputs";
constexpr std::string_view kConstant = "the values do not depend on those of its inputs";

// The dtype a number gives a new tensor.
DType dtype_of_number(const TensorType& type) {
  if (!type.is_number || !is_differentiable(type.dtype)) return type.dtype;
  return is_complex(type.dtype) ? complex_of(default_float()) : default_float();
}

// ---- From sizes ----

std::vector<TensorType> sized_infer(std::span<const TensorType>, const Attrs& attrs) {
  count_elements(attrs.get<Dims>("size"));
  return {{dtype_attr(attrs, default_float()), device_attr(attrs), attrs.get<Dims>("size")}};
}

// The device that is named, else that of the value where the value is a tensor. A tensor of the host may fill
// a result on any device.
Device full_device(const TensorType& number, const Attrs& attrs) {
  if (number.is_number) return device_attr(attrs);
  const Device device = device_attr(attrs, number.device);
  if (device != number.device && !is_on_host(number.device))
    throw OpError(ErrorKind::Device,
                  fmt::format("full: fill_value is on {}, the result on {}", to_string(number.device),
                              to_string(device)),
                  {0}, "move it there: x.to(\"" + to_string(device) + "\")");
  return device;
}

std::vector<TensorType> full_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  if (count_elements(inputs[0].sizes) != 1) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("full: fill_value must be one number, not {}", to_string(inputs[0])), {0});
  }
  count_elements(attrs.get<Dims>("size"));
  return {{dtype_attr(attrs, dtype_of_number(inputs[0])), full_device(inputs[0], attrs),
           attrs.get<Dims>("size")}};
}
Tensors full_vjp(const VjpArgs& args) {
  const TensorType& number = args.input_types[0];
  const Tensor sum = ops::to(ops::reshape(ops::sum(args.grads[0]), number.sizes), number.dtype);
  return {number.is_number ? sum : ops::to(sum, number.device)};
}
Tensors full_jvp(const JvpArgs& args) { return kiln::bind(args.op, args.tangents, args.attrs); }
Tensors full_batch(const BatchArgs& args) {
  const Dims& sizes = args.attrs.get<Dims>("size");
  Dims ones{args.batch_size};
  ones.resize(sizes.size() + 1, 1);
  const TensorType type =
      full_infer(std::vector<TensorType>{{args.inputs[0].dtype(), args.inputs[0].device(), {}}}, args.attrs)
          .front();
  const Tensor wide = ops::expand(ops::reshape(args.inputs[0], ones), rules::prepend(args.batch_size, sizes));
  return {ops::clone(ops::to(ops::to(wide, type.dtype), type.device))};
}

// ---- Like another ----

TensorType like_type(const TensorType& x, const Attrs& attrs) {
  return {dtype_attr(attrs, x.dtype), device_attr(attrs, x.device), x.sizes};
}
std::vector<TensorType> like_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  return {like_type(inputs[0], attrs)};
}

TensorType new_type(const TensorType& x, const Attrs& attrs) {
  count_elements(attrs.get<Dims>("size"));
  return {dtype_attr(attrs, x.dtype), device_attr(attrs, x.device), attrs.get<Dims>("size")};
}
std::vector<TensorType> new_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  return {new_type(inputs[0], attrs)};
}
// New memory for every example, so that what is batched can be written into it.
Tensors new_batch(const BatchArgs& args) {
  Attrs attrs = args.attrs;
  attrs.set("size", rules::prepend(args.batch_size, args.attrs.get<Dims>("size")));
  return kiln::bind(args.op, args.inputs, attrs);
}

// ---- Ranges ----

constexpr double kMaxLength = 0x1p62;

template <class T>
void check_range(T start, T end, T step) {
  if (step == 0) throw OpError(ErrorKind::Value, "arange: step must not be 0");
  if (step > 0 ? start > end : start < end) {
    throw OpError(ErrorKind::Value,
                  fmt::format("arange: steps of {} do not lead from {} to {}", step, start, end));
  }
}
void check_length(double length) {
  if (length >= kMaxLength)
    throw OpError(ErrorKind::Overflow, fmt::format("arange: {} elements are too many", length));
}

std::int64_t range_length(double start, double end, double step) {
  if (step != 0 && (!std::isfinite(start) || !std::isfinite(end) || std::isnan(step))) {
    throw OpError(ErrorKind::Value, fmt::format("arange: the range from {} to {} has no end", start, end));
  }
  check_range(start, end, step);
  const double length = std::ceil((end - start) / step);
  check_length(length);
  return static_cast<std::int64_t>(length);
}

// Of ints, whose differences wrap and which a double may not hold.
std::int64_t range_length(std::int64_t start, std::int64_t end, std::int64_t step) {
  check_range(start, end, step);
  const auto difference = [](std::int64_t a, std::int64_t b) {
    return static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b);
  };
  const std::uint64_t distance = step > 0 ? difference(end, start) : difference(start, end);
  const std::uint64_t each = step > 0 ? difference(step, 0) : difference(0, step);
  const std::uint64_t length = distance / each + (distance % each != 0 ? 1 : 0);
  check_length(static_cast<double>(length));
  return static_cast<std::int64_t>(length);
}

Dim size_of(const Attr& attr) {
  const auto* size = std::get_if<Dim>(&attr);
  return size != nullptr ? *size : Dim(int_of(attr));
}

Dim range_length(Dim start, Dim end, Dim step) {
  if (start.is_known() && end.is_known() && step.is_known())
    return range_length(start.known(), end.known(), step.known());
  const std::int64_t by = step;
  if (by == 0 || (by > 0 ? start > end : start < end))
    check_range<std::int64_t>(start.hint(), end.hint(), by);
  return ceil_div(by > 0 ? end - start : start - end, std::abs(by));
}

std::vector<TensorType> arange_infer(std::span<const TensorType>, const Attrs& attrs) {
  const Bounds bounds = bounds_of(attrs);
  const DType dtype = dtype_attr(attrs, bounds.whole() ? DType::I64 : default_float());
  const Dim length = bounds.whole()
                         ? range_length(size_of(bounds.start), size_of(bounds.end), size_of(bounds.step))
                         : Dim(range_length(rules::float_of(bounds.start), rules::float_of(bounds.end),
                                            rules::float_of(bounds.step)));
  return {{dtype, device_attr(attrs), Dims{length}}};
}

std::vector<TensorType> linspace_infer(std::span<const TensorType>, const Attrs& attrs) {
  const Dim steps = attrs.get<Dim>("steps");
  if (steps < 0)
    throw OpError(ErrorKind::Value, fmt::format("linspace: steps must not be negative, it is {}", steps));
  return {{dtype_attr(attrs, default_float()), device_attr(attrs), Dims{steps}}};
}

// ---- Rows ----

Op creation(std::string_view signature, std::string_view documentation, std::string_view example,
            InferFn infer, OnnxRule onnx) {
  return {.signature = Signature::parse(signature),
          .family = "create",
          .documentation = documentation,
          .example = example,
          .infer = infer,
          .vjp = Rule<VjpFn>::none(kNoInputs),
          .jvp = Rule<JvpFn>::none(kNoInputs),
          .batch = Rule<BatchFn>::none(kNoInputs),
          .lowering = Lowering::Create,
          .traits = kCheapToRecompute,
          .onnx = onnx,
          .complex = ComplexRule::Moves};
}

// Takes only type and sizes of its input.
Op creation_like(std::string_view signature, std::string_view documentation, std::string_view example,
                 InferFn infer, BatchFn batch, OnnxFn onnx) {
  Op row = creation(signature, documentation, example, infer, onnx);
  row.vjp = Rule<VjpFn>::none(kConstant);
  row.jvp = Rule<JvpFn>::none(kConstant);
  row.batch = batch;
  row.traits |= kStopsGradient;
  row.complex = complex_rules::moves_beside(1U << 0);
  return row;
}

// With every element equal to one number.
Op filled(Op row, std::int64_t number) {
  row.lowering = lowering::Fill{number};
  return row;
}

void add_sized(OpTable& table) {
  table.add(filled(
      creation("zeros(size: ints, *, dtype: dtype? = none, device: device? = none)", "A tensor of zeros.",
               ">>> zeros(2, 2).tolist()\n[[0.0, 0.0], [0.0, 0.0]]", sized_infer, onnx_rules::zeros),
      0));
  table.add(filled(
      creation("ones(size: ints, *, dtype: dtype? = none, device: device? = none)", "A tensor of ones.",
               ">>> ones(2, dtype=i64).tolist()\n[1, 1]", sized_infer, onnx_rules::ones),
      1));
  table.add(creation("empty(size: ints, *, dtype: dtype? = none, device: device? = none)",
                     "A tensor whose elements are whatever its memory held.", ">>> empty(2, 3).shape\n(2, 3)",
                     sized_infer, onnx_rules::zeros));
  Op full = creation("full(size: ints, fill_value: tensor, *, dtype: dtype? = none, device: device? = none)",
                     "A tensor with every element equal to `fill_value`, and of its dtype.",
                     ">>> full([2], 7).tolist()\n[7, 7]", full_infer, onnx_rules::full_of_operand);
  full.vjp = full_vjp;
  full.jvp = full_jvp;
  full.batch = full_batch;
  full.lowering = lowering::Fill{};
  table.add(std::move(full));
}

void add_like(OpTable& table) {
  table.add(filled(creation_like("zeros_like(x: tensor, *, dtype: dtype? = none, device: device? = none)",
                                 "Zeros with the type and shape of `x`.",
                                 ">>> zeros_like(tensor([1, 2])).tolist()\n[0, 0]", like_infer,
                                 rules::batch_through, onnx_rules::zeros),
                   0));
  table.add(filled(
      creation_like("ones_like(x: tensor, *, dtype: dtype? = none, device: device? = none)",
                    "Ones with the type and shape of `x`.", ">>> ones_like(tensor([5, 6])).tolist()\n[1, 1]",
                    like_infer, rules::batch_through, onnx_rules::ones),
      1));
  table.add(creation_like("empty_like(x: tensor, *, dtype: dtype? = none, device: device? = none)",
                          "A tensor with the type and shape of `x` and whatever its memory held.",
                          ">>> empty_like(tensor([1, 2])).shape\n(2,)", like_infer, rules::batch_through,
                          onnx_rules::zeros));
  table.add(creation_like(
      "full_like(x: tensor, fill_value: number, *, dtype: dtype? = none, device: device? = none)",
      "One number everywhere, with the type and shape of `x`.",
      ">>> full_like(tensor([1, 2]), 7).tolist()\n[7, 7]", like_infer, rules::batch_through,
      onnx_rules::full_of_attribute));
  table.add(filled(
      creation_like("new_zeros(x: tensor, size: ints, *, dtype: dtype? = none, device: device? = none)",
                    "Zeros of any shape with the dtype and device of `x`.",
                    ">>> tensor([1]).new_zeros(2).tolist()\n[0, 0]", new_infer, new_batch, onnx_rules::zeros),
      0));
  table.add(filled(
      creation_like("new_ones(x: tensor, size: ints, *, dtype: dtype? = none, device: device? = none)",
                    "Ones of any shape with the dtype and device of `x`.",
                    ">>> tensor([1]).new_ones(2).tolist()\n[1, 1]", new_infer, new_batch, onnx_rules::ones),
      1));
  table.add(creation_like("new_empty(x: tensor, size: ints, *, dtype: dtype? = none, device: device? = none)",
                          "Whatever memory held, of any shape, with the dtype and device of `x`.",
                          ">>> tensor([1]).new_empty(2).shape\n(2,)", new_infer, new_batch,
                          onnx_rules::zeros));
  table.add(creation_like(
      "new_full(x: tensor, size: ints, fill_value: number, *, dtype: dtype? = none, device: device? = none)",
      "One number everywhere, of any shape, with the dtype and device of `x`.",
      ">>> tensor([1]).new_full([2], 7).tolist()\n[7, 7]", new_infer, new_batch,
      onnx_rules::full_of_attribute));
}

Op range(Op row) {
  row.complex = complex_rules::converted;
  return row;
}

void add_ranges(OpTable& table) {
  table.add(range(
      creation("arange(start: number, end: number? = none, step: number = 1, *, dtype: dtype? = none, "
               "device: device? = none)",
               "The numbers from `start` (0 when only one bound is given) to before `end`, `step` apart; i64 "
               "when all are ints.",
               ">>> arange(1, 7, 2).tolist()\n[1, 3, 5]", arange_infer, onnx_rules::arange)));
  table.add(range(creation(
      "linspace(start: number, end: number, steps: int, *, dtype: dtype? = none, device: device? = none)",
      "`steps` numbers from `start` to `end`, both included, evenly apart.",
      ">>> linspace(0, 1, 3).tolist()\n[0.0, 0.5, 1.0]", linspace_infer, onnx_rules::linspace)));
}

}  // namespace

void add_create_ops(OpTable& table) {
  add_sized(table);
  add_like(table);
  add_ranges(table);
  add_create_matrix_ops(table);
}

namespace ops {

Tensor full(Ints sizes, const Tensor& number, DType dtype, Device device) {
  static const Op& row = op_named("full");
  return apply_one(row, {number}, {rules::to_dims(sizes), dtype, device});
}
Tensor zeros(Ints sizes, DType dtype, Device device) {
  static const Op& row = op_named("zeros");
  return apply_one(row, {}, {rules::to_dims(sizes), dtype, device});
}
Tensor ones(Ints sizes, DType dtype, Device device) {
  static const Op& row = op_named("ones");
  return apply_one(row, {}, {rules::to_dims(sizes), dtype, device});
}
Tensor zeros_like(const Tensor& x) {
  static const Op& row = op_named("zeros_like");
  return apply_one(row, {x});
}
Tensor ones_like(const Tensor& x) {
  static const Op& row = op_named("ones_like");
  return apply_one(row, {x});
}
Tensor full_like(const Tensor& x, double value) {
  static const Op& row = op_named("full_like");
  return apply_one(row, {x}, {value});
}
Tensor arange(Dim begin, Dim end, Dim step, DType dtype, Device device) {
  static const Op& row = op_named("arange");
  return apply_one(row, {}, {begin, end, step, dtype, device});
}

}  // namespace ops
}  // namespace kiln

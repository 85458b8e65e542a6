#include "tensor/cpu/elementwise/element_form.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace kiln::cpu {
namespace {

// Calls f with an element of the dtype, one that blocks are made of.
template <class F>
void with_element(DType dtype, F&& f) {
  switch (dtype) {
    case DType::Bool:
      return f(false);
    case DType::U8:
      return f(std::uint8_t{});
    case DType::I8:
      return f(std::int8_t{});
    case DType::I16:
      return f(std::int16_t{});
    case DType::I32:
      return f(std::int32_t{});
    case DType::I64:
      return f(std::int64_t{});
    case DType::F64:
      return f(double{});
    default:
      return f(float{});
  }
}

// The one value of a tensor of bools or integers.
std::int64_t integer_value(const Tensor& x) {
  std::int64_t value;
  convert_table().load[static_cast<std::size_t>(x.dtype())][static_cast<std::size_t>(Compute::I64)](
      x.raw(), 0, &value, 1);
  return value;
}

bool holds(DType dtype, std::int64_t value) {
  bool result = false;
  with_element(dtype,
               [&]<class T>(T) { result = static_cast<std::int64_t>(static_cast<T>(value)) == value; });
  return result;
}

ElementForm form_in(const ElementwiseJob& job, DType element) {
  const auto index = static_cast<std::size_t>(element);
  return {element, job.kernels.block[index], job.kernels.rows[index]};
}

// The dtype of the first operand that is no mask.
std::optional<DType> first_dtype(std::span<const Operand> operands) {
  for (const Operand& operand : operands)
    if (operand.tensor != nullptr && !operand.as_bool) return operand.tensor->dtype();
  return std::nullopt;
}

// Is everything of one dtype? Single values may also be integers that a narrow one has, or be absent.
bool all_fit(DType dtype, std::span<const Operand> operands) {
  const auto fits = [dtype](const Operand& operand) {
    if (operand.tensor == nullptr) return is_narrow(dtype);
    if (operand.as_bool || operand.tensor->dtype() == dtype) return true;
    const Tensor& x = *operand.tensor;
    return is_narrow(dtype) && x.numel() == 1 && !is_float(x.dtype()) && holds(dtype, integer_value(x));
  };
  return std::all_of(operands.begin(), operands.end(), fits);
}

}  // namespace

bool is_narrow(DType dtype) { return static_cast<int>(dtype) < kNarrowCount; }
bool is_half(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16; }

ElementForm choose_form(const ElementwiseJob& job, std::span<const Operand> operands, const Tensor& output) {
  const DType dtype = job.predicate ? first_dtype(operands).value_or(output.dtype()) : output.dtype();
  const ElementForm form = form_in(job, dtype);
  const bool stands_for =
      (job.compute == Compute::I32 && is_narrow(dtype)) || (job.compute == Compute::F32 && is_half(dtype));
  return stands_for && form.block != nullptr && all_fit(dtype, operands)
             ? form
             : form_in(job, element_of(job.compute));
}

void fill_absent(DType element, double value, std::byte* block, std::int64_t n) {
  with_element(element, [&]<class T>(T) {
    using Limits = std::numeric_limits<T>;
    T item = static_cast<T>(value < 0 ? Limits::lowest() : Limits::max());
    if constexpr (!Limits::is_integer) item = static_cast<T>(value);
    std::fill_n(reinterpret_cast<T*>(block), n, item);
  });
}

void fill_integer(DType element, const Tensor& value, std::byte* block, std::int64_t n) {
  with_element(element, [&]<class T>(T) {
    std::fill_n(reinterpret_cast<T*>(block), n, static_cast<T>(integer_value(value)));
  });
}

}  // namespace kiln::cpu

#include "jit/cuda/literals.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "jit/cuda/emit.h"

namespace kiln::jit {
namespace {

std::string number_text(double value) {
  if (std::isfinite(value)) return fmt::format("{:a}", value);
  return fmt::format("__builtin_bit_cast(double, {:#x}ULL)", std::bit_cast<std::uint64_t>(value));
}
// The least integer has no literal of its own.
std::string number_text(long long value) {
  return fmt::format("static_cast<long long>({:#x}ULL)", static_cast<std::uint64_t>(value));
}

}  // namespace

std::string params_text(const Params& params) {
  std::string values, numbers;
  for (int i = 0; i < 4; ++i) {
    const char* const comma = i == 0 ? "" : ", ";
    values += comma + number_text(params.v[i]);
    numbers += comma + number_text(params.n[i]);
  }
  std::string text;
  const auto all = [](const auto& of) {
    return std::all_of(std::begin(of), std::end(of),
                       [](auto each) { return std::bit_cast<std::uint64_t>(each) == 0; });
  };
  if (!all(params.v)) text += fmt::format(".v = {{{}}}, ", values);
  if (!all(params.n)) text += fmt::format(".n = {{{}}}, ", numbers);
  text += fmt::format(".largest = {}, .bits = {}", number_text(params.largest), params.bits);
  return params.integers == 0 ? text : text + fmt::format(", .integers = {}U", params.integers);
}

std::string constant_text(const Instruction& step) {
  const auto bits = static_cast<std::uint64_t>(step.bits);
  switch (step.dtype) {
    case DType::Bool:
      return bits != 0 ? "true" : "false";
    case DType::F64:
      return number_text(std::bit_cast<double>(bits));
    case DType::F32:
      return fmt::format("__builtin_bit_cast(float, {:#x}U)", static_cast<std::uint32_t>(bits));
    case DType::F16:
    case DType::BF16:
      return fmt::format("{}{{{:#x}}}", cuda_element(step.dtype), static_cast<std::uint16_t>(bits));
    default:
      return fmt::format("static_cast<{}>({:#x}ULL)", cuda_element(step.dtype), bits);
  }
}

}  // namespace kiln::jit

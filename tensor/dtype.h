// Owns element types: their sizes, categories, names and promotion, and conversions of halves on the host.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/complex.h"
#include "tensor/half.h"

namespace kiln {

enum class DType : std::uint8_t { Bool, U8, I8, I16, I32, I64, F16, BF16, F32, F64, C64, C128 };
inline constexpr int kDTypeCount = 12;
// Dtypes of real numbers come first. Kernels that compute are compiled for these alone: ops on complex
// numbers are written over their real and imaginary parts (Op::complex).
inline constexpr int kRealDTypeCount = 10;

// Promotion goes up through categories first: bool < integer < float < complex.
enum class Category : std::uint8_t { Bool, Integer, Float, Complex };

std::string_view name(DType dtype);                       // "f32"
std::optional<DType> dtype_named(std::string_view name);  // also "float32", "int64", "float", "int", …
std::size_t size_of(DType dtype);                         // bytes of one element
Category category(DType dtype);
inline bool is_float(DType dtype) { return category(dtype) == Category::Float; }
inline bool is_integer(DType dtype) { return category(dtype) == Category::Integer; }
constexpr bool is_complex(DType dtype) { return dtype >= DType::C64; }
// Do values of this dtype have gradients and tangents?
inline bool is_differentiable(DType dtype) { return is_complex(dtype) || is_float(dtype); }

// The dtype of the real and the imaginary parts: f32 of c64, f64 of c128; a dtype of real numbers itself.
constexpr DType part_of(DType dtype) {
  return dtype == DType::C64 ? DType::F32 : dtype == DType::C128 ? DType::F64 : dtype;
}
// The complex dtype whose parts hold numbers of this dtype as arithmetic with it has them: c128 of f64, else
// c64.
constexpr DType complex_of(DType dtype) {
  return is_complex(dtype) ? dtype : dtype == DType::F64 ? DType::C128 : DType::C64;
}

// The dtype both operands convert to (PyTorch's `promote_types`): f16 with bf16 is f32, u8 with i8 is i16,
// c64 with f64 is c128.
DType promote(DType a, DType b);

// f32 unless changed; the type of `tensor([1.0])` and of integer division.
DType default_float();

// Conversions of halves round to nearest even.
float to_float(Half value);
Half to_half(float value);
inline float to_float(BFloat16 value) { return std::bit_cast<float>(std::uint32_t{value.bits} << 16); }
inline BFloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return {static_cast<std::uint16_t>((bits >> 16) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

// The C++ element type of a dtype. Bool is stored as one byte, 0 or 1.
template <DType D>
struct ElementOf;
template <>
struct ElementOf<DType::Bool> {
  using type = bool;
};
template <>
struct ElementOf<DType::U8> {
  using type = std::uint8_t;
};
template <>
struct ElementOf<DType::I8> {
  using type = std::int8_t;
};
template <>
struct ElementOf<DType::I16> {
  using type = std::int16_t;
};
template <>
struct ElementOf<DType::I32> {
  using type = std::int32_t;
};
template <>
struct ElementOf<DType::I64> {
  using type = std::int64_t;
};
template <>
struct ElementOf<DType::F16> {
  using type = Half;
};
template <>
struct ElementOf<DType::BF16> {
  using type = BFloat16;
};
template <>
struct ElementOf<DType::F32> {
  using type = float;
};
template <>
struct ElementOf<DType::F64> {
  using type = double;
};

template <>
struct ElementOf<DType::C64> {
  using type = Complex<float>;
};
template <>
struct ElementOf<DType::C128> {
  using type = Complex<double>;
};

// Throws InternalError: a kernel for real numbers was asked for complex ones.
[[noreturn]] void refuse_complex(DType dtype);

// Calls `f.template operator()<T>()` with the element type of `dtype`, one of real numbers.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::Bool:
      return f.template operator()<bool>();
    case DType::U8:
      return f.template operator()<std::uint8_t>();
    case DType::I8:
      return f.template operator()<std::int8_t>();
    case DType::I16:
      return f.template operator()<std::int16_t>();
    case DType::I32:
      return f.template operator()<std::int32_t>();
    case DType::I64:
      return f.template operator()<std::int64_t>();
    case DType::F16:
      return f.template operator()<Half>();
    case DType::BF16:
      return f.template operator()<BFloat16>();
    case DType::F32:
      return f.template operator()<float>();
    case DType::F64:
      return f.template operator()<double>();
    case DType::C64:
    case DType::C128:
      break;
  }
  refuse_complex(dtype);
}

}  // namespace kiln

#include "tensor/dtype.h"

#include <array>
#include <string>
#include <utility>

#include "tensor/error.h"

namespace kiln {
namespace {

struct Facts {
  std::string_view name;
  std::size_t size;
  Category category;
};

constexpr std::array<Facts, kDTypeCount> kFacts = {{
    {"bool", 1, Category::Bool},
    {"u8", 1, Category::Integer},
    {"i8", 1, Category::Integer},
    {"i16", 2, Category::Integer},
    {"i32", 4, Category::Integer},
    {"i64", 8, Category::Integer},
    {"f16", 2, Category::Float},
    {"bf16", 2, Category::Float},
    {"f32", 4, Category::Float},
    {"f64", 8, Category::Float},
    {"c64", 8, Category::Complex},
    {"c128", 16, Category::Complex},
}};

constexpr std::pair<std::string_view, DType> kOtherNames[] = {
    {"uint8", DType::U8},      {"int8", DType::I8},         {"int16", DType::I16},
    {"short", DType::I16},     {"int32", DType::I32},       {"int64", DType::I64},
    {"long", DType::I64},      {"int", DType::I64},         {"float16", DType::F16},
    {"half", DType::F16},      {"bfloat16", DType::BF16},   {"float32", DType::F32},
    {"float", DType::F32},     {"float64", DType::F64},     {"double", DType::F64},
    {"complex64", DType::C64}, {"complex128", DType::C128},
};

constexpr std::size_t index_of(DType dtype) { return static_cast<std::size_t>(dtype); }

constexpr DType promote_rule(DType a, DType b) {
  if (a == b) return a;
  const Facts& fa = kFacts[index_of(a)];
  const Facts& fb = kFacts[index_of(b)];
  if (is_complex(a) || is_complex(b)) {
    const bool is_wide = part_of(a) == DType::F64 || part_of(b) == DType::F64;
    return is_wide ? DType::C128 : DType::C64;
  }
  if (fa.category != fb.category) return fa.category < fb.category ? b : a;
  if (fa.category == Category::Float && fa.size == 2 && fb.size == 2) return DType::F32;
  const DType wider = fa.size < fb.size ? b : a;
  // u8 holds what no signed type of its size holds.
  if (fa.category == Category::Integer && fa.size == fb.size) return DType::I16;
  return wider;
}

constexpr auto kPromotion = [] {
  std::array<std::array<DType, kDTypeCount>, kDTypeCount> table{};
  for (std::size_t a = 0; a < kDTypeCount; ++a) {
    for (std::size_t b = 0; b < kDTypeCount; ++b) {
      table[a][b] = promote_rule(static_cast<DType>(a), static_cast<DType>(b));
    }
  }
  return table;
}();

}  // namespace

std::string_view name(DType dtype) { return kFacts[index_of(dtype)].name; }
std::size_t size_of(DType dtype) { return kFacts[index_of(dtype)].size; }
Category category(DType dtype) { return kFacts[index_of(dtype)].category; }
DType promote(DType a, DType b) { return kPromotion[index_of(a)][index_of(b)]; }
void refuse_complex(DType dtype) {
  throw InternalError("a kernel for real numbers got " + std::string(name(dtype)));
}
DType default_float() { return DType::F32; }

std::optional<DType> dtype_named(std::string_view name) {
  for (std::size_t i = 0; i < kFacts.size(); ++i) {
    if (kFacts[i].name == name) return static_cast<DType>(i);
  }
  for (const auto& [other, dtype] : kOtherNames) {
    if (other == name) return dtype;
  }
  return std::nullopt;
}

// Moves the exponent into place with one exact multiplication, which also makes subnormals normal.
float to_float(Half value) {
  const std::uint32_t sign = std::uint32_t{value.bits & 0x8000U} << 16;
  const std::uint32_t magnitude = value.bits & 0x7fffU;
  if (magnitude >= 0x7c00U) return std::bit_cast<float>(sign | 0x7f800000U | (magnitude << 13));
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(scaled));
}

Half to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  std::uint32_t half;
  if (magnitude > 0x7f800000U) {
    half = 0x7e00U | ((magnitude >> 13) & 0x3ffU);
  } else if (magnitude >= 0x477ff000U) {  // rounds to 65536 or more
    half = 0x7c00U;
  } else if (magnitude < 0x38800000U) {  // subnormal: adding 0.5 rounds at the last place of a half
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
  } else {
    half = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  }
  return {static_cast<std::uint16_t>(sign | half)};
}

}  // namespace kiln

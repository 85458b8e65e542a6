#include "dist/controller/scale.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace kiln::dist {
namespace {

double wide(Half value) { return to_float(value); }
double wide(BFloat16 value) { return to_float(value); }
template <class T>
  requires std::is_arithmetic_v<T>
double wide(T value) {
  return static_cast<double>(value);
}

template <class T>
T narrow(double value) {
  if constexpr (std::is_same_v<T, Half>) {
    return to_half(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<T>) {
    // Beyond the dtype a conversion would be undefined.
    constexpr double kLeast = static_cast<double>(std::numeric_limits<T>::min());
    constexpr double kMost = static_cast<double>(std::numeric_limits<T>::max());
    if (!(value > kLeast)) return std::isnan(value) ? T{} : std::numeric_limits<T>::min();
    if (value >= kMost) return std::numeric_limits<T>::max();
    return static_cast<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

template <class From, class To>
void scale_elements(std::span<const std::byte> in, std::span<std::byte> out, double factor) {
  const auto* const from = reinterpret_cast<const From*>(in.data());
  auto* const to = reinterpret_cast<To*>(out.data());
  const std::size_t count = in.size() / sizeof(From);
  for (std::size_t i = 0; i < count; ++i) to[i] = narrow<To>(wide(from[i]) * factor);
}

template <class T>
T neutral(kiln::ReduceOp op) {
  using Limits = std::numeric_limits<T>;
  if (op == kiln::ReduceOp::Product) return T{1};
  if (op != kiln::ReduceOp::Min && op != kiln::ReduceOp::Max) return T{};
  if constexpr (std::is_floating_point_v<T>) {
    return op == kiln::ReduceOp::Min ? Limits::infinity() : -Limits::infinity();
  } else {
    return op == kiln::ReduceOp::Min ? Limits::max() : Limits::min();
  }
}

}  // namespace

void scale(DType from, std::span<const std::byte> in, DType to, std::span<std::byte> out, double factor) {
  if (factor == 1 && from == to) {
    if (!in.empty() && in.data() != out.data()) std::memcpy(out.data(), in.data(), in.size());
    return;
  }
  visit_dtype(from, [&]<class From>() {
    visit_dtype(to, [&]<class To>() { scale_elements<From, To>(in, out, factor); });
  });
}

void fill_neutral(DType dtype, kiln::ReduceOp op, std::span<std::byte> out) {
  visit_dtype(dtype, [&]<class T>() {
    T value;
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      value = narrow<T>(neutral<float>(op));
    } else {
      value = neutral<T>(op);
    }
    for (std::size_t at = 0; at < out.size(); at += sizeof(T))
      std::memcpy(out.data() + at, &value, sizeof(T));
  });
}

}  // namespace kiln::dist

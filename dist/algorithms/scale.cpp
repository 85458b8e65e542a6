#include "dist/algorithms/scale.h"

#include <cstring>
#include <limits>
#include <type_traits>

#include "tensor/rank_values.h"

namespace kiln::dist {
namespace {

template <class From, class To>
void scale_elements(std::span<const std::byte> in, std::span<std::byte> out, double factor) {
  const auto* const from = reinterpret_cast<const From*>(in.data());
  auto* const to = reinterpret_cast<To*>(out.data());
  const std::size_t count = in.size() / sizeof(From);
  for (std::size_t i = 0; i < count; ++i) to[i] = ranks::scaled<To>(from[i], factor);
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
      value = ranks::rounded<T>(neutral<float>(op));
    } else {
      value = neutral<T>(op);
    }
    for (std::size_t at = 0; at < out.size(); at += sizeof(T))
      std::memcpy(out.data() + at, &value, sizeof(T));
  });
}

}  // namespace kiln::dist

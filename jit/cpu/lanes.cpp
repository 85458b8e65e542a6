#include "jit/cpu/lanes.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace kiln::jit {
namespace {

// ---- As SumOf, ProdOf, MaxOf and MinOf of the eager kernels (tensor/cpu/isa/lanes.h) ----

template <cpu::Combine C, class T>
T combined(T a, T b) {
  using Wrapping = std::conditional_t<std::is_same_v<T, std::int64_t>, std::uint64_t, T>;
  if constexpr (C == cpu::Combine::Sum)
    return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
  if constexpr (C == cpu::Combine::Prod)
    return static_cast<T>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
  if constexpr (C == cpu::Combine::Max) return a > b || a != a ? a : b;
  if constexpr (C == cpu::Combine::Min) return a < b || a != a ? a : b;
}

template <cpu::Combine C, class T>
T identity() {
  using Limits = std::numeric_limits<T>;
  if constexpr (C == cpu::Combine::Sum) return T(0);
  if constexpr (C == cpu::Combine::Prod) return T(1);
  if constexpr (C == cpu::Combine::Max) return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  if constexpr (C == cpu::Combine::Min) return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

template <cpu::Combine C, class T>
struct Fixed {
  static void start(Lanes& lanes) {
    std::fill_n(reinterpret_cast<T*>(lanes.bytes), kReductionLanes, identity<C, T>());
  }

  static Slot fold(Lanes& lanes) {
    T* const lane = reinterpret_cast<T*>(lanes.bytes);
    halve<kReductionLanes / 2>(lane);
    Slot slot{};
    std::memcpy(slot.data(), lane, sizeof(T));
    return slot;
  }

  // An odd last block goes up unchanged.
  static Slot tree(std::span<Slot> blocks) {
    for (std::size_t count = blocks.size(); count > 1; count = (count + 1) / 2) {
      for (std::size_t i = 0; i < count / 2; ++i) {
        const T value = combined<C, T>(at(blocks[2 * i]), at(blocks[2 * i + 1]));
        std::memcpy(blocks[i].data(), &value, sizeof value);
      }
      if (count % 2 != 0) blocks[count / 2] = blocks[count - 1];
    }
    return blocks[0];
  }

  static void start_rows(std::byte* rows, std::int64_t width) {
    std::fill_n(reinterpret_cast<T*>(rows), width, identity<C, T>());
  }
  static void fold_rows(std::byte* rows, std::int64_t count, std::int64_t stride, std::int64_t width) {
    T* const lane = reinterpret_cast<T*>(rows);
    for (std::int64_t half = kReductionLanes / 2; half >= 1; half /= 2) {
      for (std::int64_t j = 0; j < half && j + half < count; ++j)
        take_in(lane + j * stride, lane + (j + half) * stride, width);
    }
  }
  static void tree_rows(std::byte* rows, std::int64_t count, std::int64_t stride, std::int64_t width) {
    T* const block = reinterpret_cast<T*>(rows);
    for (std::int64_t apart = 1; apart < count; apart *= 2) {
      for (std::int64_t b = 0; b + apart < count; b += 2 * apart)
        take_in(block + b * stride, block + (b + apart) * stride, width);
    }
  }

 private:
  static void take_in(T* __restrict to, const T* __restrict from, std::int64_t width) {
    for (std::int64_t i = 0; i < width; ++i) to[i] = combined<C, T>(to[i], from[i]);
  }
  // By a constant, so that the compiler makes vectors of it.
  template <int kHalf>
  static void halve(T* lane) {
    for (int j = 0; j < kHalf; ++j) lane[j] = combined<C, T>(lane[j], lane[j + kHalf]);
    if constexpr (kHalf > 1) halve<kHalf / 2>(lane);
  }
  static T at(const Slot& slot) {
    T value;
    std::memcpy(&value, slot.data(), sizeof value);
    return value;
  }
};

template <cpu::Combine C, class T>
constexpr LaneOps kOps = {Fixed<C, T>::start,      Fixed<C, T>::fold,      Fixed<C, T>::tree,
                          Fixed<C, T>::start_rows, Fixed<C, T>::fold_rows, Fixed<C, T>::tree_rows};

template <cpu::Combine C>
const LaneOps& ops_for(DType accumulator) {
  if (accumulator == DType::F32) return kOps<C, float>;
  return accumulator == DType::F64 ? kOps<C, double> : kOps<C, std::int64_t>;
}

}  // namespace

const LaneOps& lane_ops(const Reduction& reduction) {
  switch (reduction.combine) {
    case cpu::Combine::Sum:
      return ops_for<cpu::Combine::Sum>(reduction.accumulator);
    case cpu::Combine::Prod:
      return ops_for<cpu::Combine::Prod>(reduction.accumulator);
    case cpu::Combine::Max:
      return ops_for<cpu::Combine::Max>(reduction.accumulator);
    case cpu::Combine::Min:
      break;
  }
  return ops_for<cpu::Combine::Min>(reduction.accumulator);
}

}  // namespace kiln::jit

// Owns keys that order elements: integers as wide as the element, the greater the earlier it is wanted. Of
// floats nan comes before everything, all nans are alike, and so are both zeros.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tensor/dtype.h"

namespace kiln::cpu {

// Turns bits into keys, one or a vector of them. Signed integers order themselves, others with their highest
// bit flipped; the least is wanted when all bits are.
template <class Key>
struct IntegerOrder {
  Key flip;

  template <class V>
  [[gnu::always_inline]] V operator()(V bits) const {
    return static_cast<V>(bits ^ flip);
  }
};

template <class Key>
struct FloatOrder {
  static constexpr Key kMagnitude = std::numeric_limits<Key>::max();
  Key flip;
  Key infinity;  // its bits: those of nan are above it, but for the sign

  template <class V>
  [[gnu::always_inline]] V operator()(V bits) const {
    const V magnitude = static_cast<V>(bits & kMagnitude);
    const V number = static_cast<V>(-magnitude), zero = V{};
    const V key = static_cast<V>((bits < zero ? number : magnitude) ^ flip);
    return magnitude > static_cast<V>(zero + infinity) ? static_cast<V>(zero + kMagnitude) : key;
  }
};

// What an order is made of, whatever its type.
struct OrderBits {
  std::int64_t flip = 0;
  std::int64_t infinity = 0;
};

inline OrderBits order_bits(DType dtype, bool greatest) {
  const std::int64_t unsigned_flip = dtype == DType::U8 || dtype == DType::Bool ? -128 : 0;
  OrderBits bits{.flip = greatest ? unsigned_flip : ~unsigned_flip};
  if (dtype == DType::F16) bits.infinity = 0x7c00;
  if (dtype == DType::BF16) bits.infinity = 0x7f80;
  if (dtype == DType::F32) bits.infinity = 0x7f800000;
  if (dtype == DType::F64) bits.infinity = 0x7ff0000000000000;
  return bits;
}

template <class Order>
Order order_of(const OrderBits& bits) {
  using Key = decltype(Order::flip);
  if constexpr (requires { Order::infinity; }) {
    return {static_cast<Key>(bits.flip), static_cast<Key>(bits.infinity)};
  } else {
    return {static_cast<Key>(bits.flip)};
  }
}

// The key of an element, whatever the type of that many bits.
template <class Order>
[[gnu::always_inline]] inline auto key_at(const Order& order, const void* element) {
  decltype(Order::flip) bits;
  std::memcpy(&bits, element, sizeof bits);
  return order(bits);
}

// Calls f(order) with the order of a dtype's elements.
template <class F>
void visit_order(DType dtype, bool greatest, const F& f) {
  const OrderBits bits = order_bits(dtype, greatest);
  const auto call = [&]<class Key>() {
    if constexpr (sizeof(Key) > 1)
      if (is_float(dtype)) return f(order_of<FloatOrder<Key>>(bits));
    f(order_of<IntegerOrder<Key>>(bits));
  };
  if (size_of(dtype) == 1) call.template operator()<std::int8_t>();
  if (size_of(dtype) == 2) call.template operator()<std::int16_t>();
  if (size_of(dtype) == 4) call.template operator()<std::int32_t>();
  if (size_of(dtype) == 8) call.template operator()<std::int64_t>();
}

}  // namespace kiln::cpu

// Owns the element type of complex dtypes.
#pragma once

namespace kiln {

// As it lies in memory: `T` is float or double.
template <class T>
struct Complex {
  T real{};
  T imaginary{};
  friend bool operator==(const Complex&, const Complex&) = default;
};

}  // namespace kiln

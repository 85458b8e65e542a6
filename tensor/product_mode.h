// Owns how products of matrices on cards are computed, as programs say by `with exact() { … }` and `with
// tf32() { … }`. It belongs to the thread and counts when a product runs, in compiled code too.
#pragma once

#include <cstdint>

namespace kiln {

enum class ProductMode : std::uint8_t {
  Fast,   // by the device's library, in the type of the elements, of halves in f32
  Exact,  // in the order of the CPU's sums, so that f32 and f64 have the CPU's bits
  Tf32,   // by the library, which may round elements of f32 to TF32 (10 bits of mantissa) before
};
ProductMode product_mode();
void set_product_mode(ProductMode mode);

}  // namespace kiln

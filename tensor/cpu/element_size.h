// Owns the choice of a body for moves of elements, which only ask for their size.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace kiln::cpu {

// Calls f.operator()<T>() with an unsigned integer as wide as an element.
template <class F>
void visit_size(DType dtype, F&& f) {
  switch (size_of(dtype)) {
    case 1:
      return f.template operator()<std::uint8_t>();
    case 2:
      return f.template operator()<std::uint16_t>();
    case 4:
      return f.template operator()<std::uint32_t>();
    default:
      return f.template operator()<std::uint64_t>();
  }
}

}  // namespace kiln::cpu

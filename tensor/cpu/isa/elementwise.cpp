#include "tensor/cpu/isa/elementwise.h"

namespace kiln::cpu::KILN_ISA {

static_assert(kRowCount <= kMaxRows);

const KernelTable& kernel_table() {
  static const KernelTable table = [] {
    KernelTable built;
    add_unary_f32(built);
    add_unary_f64(built);
    add_unary_int(built);
    add_unary_narrow(built);
    add_unary_half(built);
    add_binary_f32(built);
    add_binary_f64(built);
    add_binary_int(built);
    add_binary_narrow(built);
    add_binary_half(built);
    add_ternary(built);
    add_ternary_half(built);
    return built;
  }();
  return table;
}

}  // namespace kiln::cpu::KILN_ISA

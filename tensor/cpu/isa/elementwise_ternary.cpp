#include "tensor/cpu/isa/elementwise.h"

namespace kiln::cpu::KILN_ISA {
namespace {

template <class Op>
void add_all(KernelTable& table, int row) {
  add_ternary<Op, float, double, math::Int32, math::Int64>(table, row);
  add_ternary<Op, bool, std::uint8_t, std::int8_t, std::int16_t>(table, row);
}

}  // namespace

void add_ternary(KernelTable& table) {
#define KILN_TERNARY(name, ...) add_all<scalar::name>(table, kRow_##name);
#include "tensor/ops/elementwise.def"
#undef KILN_TERNARY
}

}  // namespace kiln::cpu::KILN_ISA

#include "tensor/cpu/isa/elementwise.h"

namespace kiln::cpu::KILN_ISA {
namespace {

template <class Op>
void add_all(KernelTable& table, int row) {
  add_ternary<Op, float>(table, row);
  add_ternary<Op, double>(table, row);
  add_ternary<Op, math::Int32>(table, row);
  add_ternary<Op, math::Int64>(table, row);
}

}  // namespace

void add_ternary(KernelTable& table) {
#define KILN_TERNARY(name, ...) add_all<scalar::name>(table, kRow_##name);
#include "tensor/ops/elementwise.def"
#undef KILN_TERNARY
}

}  // namespace kiln::cpu::KILN_ISA

#include "tensor/cpu/isa/elementwise.h"

namespace kiln::cpu::KILN_ISA {

void add_unary_int(KernelTable& table) {
#define KILN_UNARY(name, ...) add_unary<scalar::name, math::Int32, math::Int64>(table, kRow_##name);
#include "tensor/ops/elementwise.def"
#undef KILN_UNARY
}

}  // namespace kiln::cpu::KILN_ISA

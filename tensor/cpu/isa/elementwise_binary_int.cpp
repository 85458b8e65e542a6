#include "tensor/cpu/isa/elementwise.h"

namespace kiln::cpu::KILN_ISA {

void add_binary_int(KernelTable& table) {
#define KILN_BINARY(name, ...) add_binary<scalar::name, math::Int32, math::Int64>(table, kRow_##name);
#include "tensor/ops/elementwise.def"
#undef KILN_BINARY
}

}  // namespace kiln::cpu::KILN_ISA

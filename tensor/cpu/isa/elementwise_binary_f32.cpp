#include "tensor/cpu/isa/elementwise.h"

namespace kiln::cpu::KILN_ISA {

void add_binary_f32(KernelTable& table) {
#define KILN_BINARY(name, ...) add_binary<scalar::name, float>(table, kRow_##name);
#include "tensor/ops/elementwise.def"
#undef KILN_BINARY
}

}  // namespace kiln::cpu::KILN_ISA

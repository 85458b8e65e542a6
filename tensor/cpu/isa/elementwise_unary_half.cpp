#include "tensor/cpu/isa/elementwise_half.h"

namespace kiln::cpu::KILN_ISA {

void add_unary_half([[maybe_unused]] KernelTable& table) {
#if defined(__F16C__)
#define KILN_UNARY(name, ...) add_halves<scalar::name, 1>(table, kRow_##name);
#include "tensor/ops/elementwise.def"
#undef KILN_UNARY
#endif
}

}  // namespace kiln::cpu::KILN_ISA

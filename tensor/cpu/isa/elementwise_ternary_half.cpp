#include "tensor/cpu/isa/elementwise_half.h"

namespace kiln::cpu::KILN_ISA {

void add_ternary_half([[maybe_unused]] KernelTable& table) {
#if defined(__F16C__)
#define KILN_TERNARY(name, ...) add_halves<scalar::name, 3>(table, kRow_##name);
#include "tensor/ops/elementwise.def"
#undef KILN_TERNARY
#endif
}

}  // namespace kiln::cpu::KILN_ISA

#include "tensor/cpu/isa/elementwise_half.h"

namespace kiln::cpu::KILN_ISA {

void add_binary_half([[maybe_unused]] KernelTable& table) {
#if defined(__F16C__)
#define KILN_BINARY(name, ...) add_halves<scalar::name, 2>(table, kRow_##name);
#include "tensor/ops/elementwise.def"
#undef KILN_BINARY
#endif
}

}  // namespace kiln::cpu::KILN_ISA

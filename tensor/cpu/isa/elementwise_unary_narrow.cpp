#include "tensor/cpu/isa/elementwise.h"

namespace kiln::cpu::KILN_ISA {

void add_unary_narrow(KernelTable& table) {
#define KILN_UNARY(name, ...) \
  add_unary<scalar::name, bool, std::uint8_t, std::int8_t, std::int16_t>(table, kRow_##name);
#include "tensor/ops/elementwise.def"
#undef KILN_UNARY
}

}  // namespace kiln::cpu::KILN_ISA

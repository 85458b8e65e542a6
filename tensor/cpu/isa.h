// Owns which instruction set the kernels run with. The files of tensor/cpu/isa/ are compiled once for each,
// in a namespace of that name (KILN_ISA); but for factorizations, panels and tiny bf16 products the bits are
// the same. A build for the machine it is made on (KILN_NATIVE_ISA) has those of one instruction set,
// whichever is set.
#pragma once

#include <cstdint>
#include <string_view>

namespace kiln::cpu {

enum class Isa : std::uint8_t { Baseline, V3, V4 };  // x86-64: SSE2; AVX2 and FMA; AVX-512
inline constexpr int kIsaCount = 3;

Isa isa();  // the best this machine has, unless set
bool has_isa(Isa isa);
// Has this build kernels for it, too?
bool has_kernels(Isa isa);
// The name of what this build needs and the machine has not; empty: it runs here.
std::string_view missing_isa();
void set_isa(Isa isa);  // for tests; the machine must have it
std::string_view name(Isa isa);

// The one of a kernel's three instances that fits the machine.
template <class T>
const T& pick(const T& baseline, const T& v3, const T& v4) {
  switch (isa()) {
    case Isa::V4:
      return v4;
    case Isa::V3:
      return v3;
    case Isa::Baseline:
      break;
  }
  return baseline;
}

}  // namespace kiln::cpu

// Declares `const Table& name()` of each instruction set's namespace, and one that picks among them.
#if defined(KILN_NATIVE_ISA)
#define KILN_ISA_TABLE(Table, name)                              \
  namespace kiln::cpu {                                          \
  namespace KILN_NATIVE_ISA {                                    \
  const Table& name();                                           \
  }                                                              \
  inline const Table& name() { return KILN_NATIVE_ISA::name(); } \
  }
#else
#define KILN_ISA_TABLE(Table, name)                                                    \
  namespace kiln::cpu {                                                                \
  namespace baseline {                                                                 \
  const Table& name();                                                                 \
  }                                                                                    \
  namespace v3 {                                                                       \
  const Table& name();                                                                 \
  }                                                                                    \
  namespace v4 {                                                                       \
  const Table& name();                                                                 \
  }                                                                                    \
  inline const Table& name() { return pick(&baseline::name, &v3::name, &v4::name)(); } \
  }
#endif

#include "tensor/cpu/isa.h"

#include <atomic>

namespace kiln::cpu {
namespace {

Isa best() {
  for (const Isa candidate : {Isa::V4, Isa::V3}) {
    if (has_isa(candidate)) return candidate;
  }
  return Isa::Baseline;
}

std::atomic<Isa>& chosen() {
  static std::atomic<Isa> isa{best()};
  return isa;
}

}  // namespace

bool has_isa(Isa isa) {
  switch (isa) {
    case Isa::V4:
      return __builtin_cpu_supports("x86-64-v4") != 0;
    case Isa::V3:
      return __builtin_cpu_supports("x86-64-v3") != 0;
    case Isa::Baseline:
      break;
  }
  return true;
}

#if defined(KILN_NATIVE_ISA)
namespace {

struct Named {
  [[maybe_unused]] static constexpr Isa baseline = Isa::Baseline, v3 = Isa::V3, v4 = Isa::V4;
};
constexpr Isa kBuilt = Named::KILN_NATIVE_ISA;

}  // namespace

bool has_kernels(Isa isa) { return isa == kBuilt && has_isa(isa); }
std::string_view missing_isa() { return has_isa(kBuilt) ? std::string_view() : name(kBuilt); }
#else
bool has_kernels(Isa isa) { return has_isa(isa); }
std::string_view missing_isa() { return {}; }
#endif

Isa isa() { return chosen().load(std::memory_order_relaxed); }
void set_isa(Isa isa) { chosen().store(isa, std::memory_order_relaxed); }

std::string_view name(Isa isa) {
  static constexpr std::string_view kNames[kIsaCount] = {"x86-64", "x86-64-v3", "x86-64-v4"};
  return kNames[static_cast<int>(isa)];
}

}  // namespace kiln::cpu

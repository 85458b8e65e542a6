// Owns running a test with every instruction set that the machine has.
#pragma once

#include <catch2/catch.hpp>

#include "tensor/cpu/isa.h"

namespace kiln::test {

template <class F>
void every_isa(const F& f) {
  const cpu::Isa best = cpu::isa();
  for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::V3, cpu::Isa::V4}) {
    if (!cpu::has_kernels(isa)) continue;
    CAPTURE(cpu::name(isa));
    cpu::set_isa(isa);
    f();
  }
  cpu::set_isa(best);
}

}  // namespace kiln::test

// Owns how many vectors a kernel's loop computes in one turn. Instructions that wait for each other leave
// most of a processor idle; it looks for others in the next turns, but no further than its queue is long. Of
// bodies longer than that it finds them in vectors beside.
#pragma once

#include "jit/loops.h"
#include "tensor/cpu/isa.h"

namespace kiln::jit {

inline constexpr int kMostAbreast = 3;  // four were no faster, or slower

// At least 1. More where the chain of a nest without reductions is long, and values of so many vectors fit
// the registers of `isa`.
int vectors_abreast(const LoopNest& nest, cpu::Isa isa);

}  // namespace kiln::jit

// Owns the unroll factor of a kernel's loop: how many vectors one turn computes. Instructions that wait for
// each other leave most of a processor idle. The processor looks for others in the next turns, but no further
// than its queue is long; where one turn is longer than the queue, it finds them in the turn's other vectors.
#pragma once

#include "jit/loops/schedule.h"
#include "tensor/cpu/isa.h"

namespace kiln::jit {

inline constexpr int kMaxUnroll = 3;  // four were no faster, or slower

// At least 1. It is more where a nest has no reductions and a long chain of dependent instructions, and the
// values of so many vectors fit the registers of `isa`. `schedule` tells which loads are hoisted.
int unroll_factor(const LoopNest& nest, const NestSchedule& schedule, cpu::Isa isa);

}  // namespace kiln::jit

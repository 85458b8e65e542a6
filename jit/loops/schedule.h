// Owns schedules: what one processor likes about nests that say what is computed (jit/loops/loops.h). The
// target of a device makes the schedule of a kernel (jit/passes/target.h); its emitter, its launch and the
// text of loops read it. No field of it changes a value: two schedules of one kernel give the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/loops/loops.h"

namespace kiln::jit {

// By field, which part of the CPU's target reads it, beside the text of loops. Other targets leave alone what
// they have no use for, and add fields of their own.

struct LoadSchedule {
  // Of a loop-invariant load: its one element is read, and what depends on such loads alone is computed,
  // before the loop. Emitter, launch.
  bool hoisted = false;
  bool ahead = false;  // each row is the first to read its memory: the next row's is prefetched. Emitter
};

struct StoreSchedule {
  // May go to memory past the caches; each call decides. Emitter, launch (jit/cpu/streaming_stores.h).
  bool streaming = false;
  bool ahead = false;  // the next row's place in the output is prefetched. Emitter
};

struct NestSchedule {
  int unroll = 1;        // vectors that one turn of the loop computes. Emitter
  bool of_rows = false;  // of interleaved rows: the nest works on one number a row alone. Launch
  // Goes on with each row where the nest before ends with it, or with the columns that it reduced, in one
  // launch of a card: what that reduced is in registers. Such nests are compiled together. CUDA's emitter and
  // launch.
  bool joins = false;
  // What it reduces of rows is also stored, for nests of later launches. CUDA's emitter and launch.
  bool keeps_results = false;
  std::vector<LoadSchedule> loads;    // by load of the nest
  std::vector<StoreSchedule> stores;  // by store
};

struct Schedule {
  // Elements that are computed at once, of one row or one of each row; on the CPU always kVector
  // (jit/llvm/kernel_code.h), as the scalar functions in bitcode are written. Launch.
  std::int64_t vector = 1;
  // Of short rows: a vector has one element of each of its rows, and reductions are `columns` down them.
  // Launch.
  bool interleaves_rows = false;
  std::vector<NestSchedule> nests;  // by pass of the kernel
};

// A nest with its schedule. The caller holds both.
struct ScheduledNest {
  const LoopNest* nest;
  const NestSchedule* schedule;
};
std::vector<ScheduledNest> nests_of(std::span<const LoopNest> passes, const Schedule& schedule);

// One vector after the other, in order, and nothing else.
Schedule plain_schedule(std::span<const LoopNest> passes, std::int64_t vector);

bool hoists_loads(const NestSchedule& nest);
// By instruction: is its value the same for all elements of a row, where each hoisted load gives one element?
std::vector<bool> same_along_rows(const LoopNest& nest, const NestSchedule& schedule);

}  // namespace kiln::jit

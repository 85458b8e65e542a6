#include "jit/cpu/unroll.h"

#include <algorithm>
#include <vector>

namespace kiln::jit {
namespace {

// Processors with AVX-512, measured on Zen 5 with Mandelbrot's steps and with polynomials: how many
// instructions the queue holds, the mean latency of a product, a sum and a comparison in cycles, and how many
// instructions begin in one cycle.
constexpr double kQueue = 70, kLatency = 3, kAtOnce = 3;
constexpr double kWorthwhile = 1.5;  // times the cycles that the instructions need when none waits
constexpr int kRegisters = 32, kMasks = 7;

bool is_computed(const Instruction& step) {
  return step.kind == Instruction::Kind::Apply || step.kind == Instruction::Kind::Convert;
}

// Does the step become one or two machine instructions over one register each? Functions do not: they are
// chains of their own that fit the queue, and some branch.
bool is_simple(const Instruction& step) {
  const bool fits = step.dtype == DType::F32 || step.dtype == DType::I32 || step.dtype == DType::Bool;
  if (step.kind != Instruction::Kind::Apply) return fits;
  const bool in_width = step.compute == Compute::F32 || step.compute == Compute::I32;
  return fits && in_width && step.failure < 0 && work_of(*step.op) == 1;
}

// Do the dependent instructions of one vector leave the processor idle, so that unrolling is faster?
bool waits(const LoopNest& nest, const std::vector<bool>& fixed) {
  std::vector<int> depth;
  int count = 0, deepest = 0;
  for (std::size_t i = 0; i < nest.body.size(); ++i) {
    const Instruction& step = nest.body[i];
    int at = 0;
    for (const Register each : step.operands) at = std::max(at, depth[static_cast<std::size_t>(each)]);
    const bool counts = is_computed(step) && !fixed[i];
    depth.push_back(counts ? at + 1 : at);
    deepest = std::max(deepest, depth.back());
    count += counts ? 1 : 0;
  }
  if (count == 0) return false;
  const double overlapping = 1 + kQueue / count;
  return deepest * kLatency / overlapping > kWorthwhile * count / kAtOnce;
}

struct Registers {
  int shared = 0;              // registers that all vectors of a turn share
  int vectors = 0, masks = 0;  // the most that one vector needs at once
};

// By register, the last instruction of the loop that reads it: the loop's end for a stored value, none (0)
// for a value that only code before the loop reads.
std::vector<std::size_t> last_reads(const LoopNest& nest, const std::vector<bool>& fixed) {
  std::vector<std::size_t> last(nest.body.size(), 0);
  for (std::size_t i = 0; i < nest.body.size(); ++i) {
    if (fixed[i]) continue;
    for (const Register each : nest.body[i].operands) last[static_cast<std::size_t>(each)] = i;
  }
  for (const Store& each : nest.stores) {
    if (!each.per_row) last[static_cast<std::size_t>(each.value)] = nest.body.size();
  }
  return last;
}

// A result may take the register of an operand that is read for the last time.
Registers registers_of(const LoopNest& nest, const std::vector<bool>& fixed) {
  const std::vector<std::size_t> last = last_reads(nest, fixed);
  std::vector<std::vector<Register>> ends(nest.body.size() + 1);
  for (std::size_t r = 0; r < last.size(); ++r) ends[last[r]].push_back(static_cast<Register>(r));
  Registers most;
  int vectors = 0, masks = 0;
  const auto count = [&](Register r, int by) {
    const auto index = static_cast<std::size_t>(r);
    if (!fixed[index]) (nest.body[index].dtype == DType::Bool ? masks : vectors) += by;
  };
  for (std::size_t i = 0; i < nest.body.size(); ++i) {
    for (const Register each : ends[i]) {
      if (i > 0) count(each, -1);
    }
    if (last[i] == 0) continue;
    most.shared += fixed[i] ? 1 : 0;
    count(static_cast<Register>(i), 1);
    most.vectors = std::max(most.vectors, vectors);
    most.masks = std::max(most.masks, masks);
  }
  return most;
}

}  // namespace

int unroll_factor(const LoopNest& nest, const NestSchedule& schedule, cpu::Isa isa) {
  if (isa != cpu::Isa::V4 || nest.combines() || nest.row_rank > 0) return 1;
  const std::vector<bool> fixed = same_along_rows(nest, schedule);  // computed before the loop
  for (std::size_t i = 0; i < nest.body.size(); ++i) {
    if (!fixed[i] && !is_simple(nest.body[i])) return 1;
  }
  if (!waits(nest, fixed)) return 1;
  const Registers needed = registers_of(nest, fixed);
  const int by_vectors = (kRegisters - needed.shared) / std::max(needed.vectors, 1);
  const int by_masks = kMasks / std::max(needed.masks, 1);
  return std::clamp(std::min(by_vectors, by_masks), 1, kMaxUnroll);
}

}  // namespace kiln::jit

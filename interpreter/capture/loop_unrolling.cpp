#include "interpreter/capture/loop_unrolling.h"

#include <algorithm>

#include "interpreter/capture/loops.h"
#include "interpreter/vm/registers.h"
#include "jit/graph/evaluate.h"

namespace kiln::interp::capture {
namespace {

constexpr std::size_t kMostNodes = 400;  // of all iterations together
// Ops on more elements take so long that the other work of an iteration does not count.
constexpr std::int64_t kFewElements = 1 << 13;

// Does the entry end where the next iteration begins, or where the loop takes its next item?
bool comes_around(const Entry& entry, const Code& code, std::size_t top) {
  if (entry.exit.returns || entry.exit.condition >= 0 || entry.exit.frames.size() != 1) return false;
  const std::size_t step = code.loops().at(top)->end - 1;
  const std::size_t end = entry.exit.frames[0].place;
  return entry.exit.depth == 1 && entry.last_code == &code &&
         (end == top || (end == step && code.opcode_at(step) == Opcode::NextFor));
}

bool is_small(const Entry& entry) {
  const jit::Graph& graph = entry.captured;
  const auto few = [&](jit::ValueId id) {
    const jit::Type& type = graph.values[static_cast<std::size_t>(id)].type;
    return count_elements(jit::evaluate(type, graph.hints).sizes) <= kFewElements;
  };
  return graph.own_ops.empty() && std::all_of(graph.nodes.begin(), graph.nodes.end(), [&](const auto& node) {
           return std::all_of(node.outputs.begin(), node.outputs.end(), few);
         });
}

// Does the range have as many numbers left? Not where one of them is -1, 0 or 1: ops may
// take such a number for a default of theirs, and it would be fixed.
bool range_lasts(const Frame& frame, std::size_t step, int iterations) {
  const Value* const state = frame.base + frame.code->instructions[step].a;
  if (frame.code->opcode_at(step) != Opcode::NextFor) return true;
  if (!state[0].is(Tag::Int) || state[1].as_int() < iterations - 1) return false;
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  const std::int64_t next = state[0].as_int(), by = state[2].as_int();
  if (std::abs(next) > kFar || std::abs(by) > kFar / iterations) return false;
  for (int k = -1; k < iterations - 1; ++k) {
    if (std::abs(next + k * by) <= 1) return false;
  }
  return true;
}

}  // namespace

UnrollLimits& unroll_limits() {
  static UnrollLimits limits;
  return limits;
}

namespace {

// How many iterations the next unrolled entry beside `entry` would hold; 0: none is to be made.
int iterations_held(const Entry& entry, const Frame& frame) {
  const UnrollLimits& limits = unroll_limits();
  if (!entry.varying.in_loop || entry.varying.iterations > 1 || entry.unrolled.size() > 1) return 0;
  const std::size_t top = frame.place();
  const std::size_t nodes = entry.captured.nodes.size();
  if (frame.code->loops().at(top) == nullptr || nodes == 0 || !comes_around(entry, *frame.code, top) ||
      !is_small(entry))
    return 0;
  const auto most = static_cast<int>(std::min(static_cast<std::size_t>(limits.most), kMostNodes / nodes));
  const int iterations = entry.unrolled.empty() ? most : limits.fewest;
  return iterations >= limits.fewest ? iterations : 0;
}

}  // namespace

int iterations_worth_unrolling(const Entry& entry, const Frame& frame) {
  const auto asked = static_cast<std::int64_t>(entry.unrolled.size());
  if (entry.hits < unroll_limits().after * (asked + 1)) return 1;
  const int iterations = iterations_held(entry, frame);
  if (iterations == 0) return 1;
  const std::size_t step = frame.code->loops().at(frame.place())->end - 1;
  return range_lasts(frame, step, iterations) ? iterations : 1;
}

bool may_be_unrolled(const Entry& entry, const Frame& frame) {
  // If none was asked for by then, the loop does not tell how many iterations are left.
  const bool still_may = entry.unrolled.empty() && entry.hits < 2 * unroll_limits().after;
  return still_may && iterations_held(entry, frame) > 0;
}

}  // namespace kiln::interp::capture

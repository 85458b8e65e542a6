#include "interpreter/capture/trips.h"

#include <algorithm>

#include "interpreter/capture/loops.h"
#include "interpreter/capture/registers.h"
#include "jit/evaluate.h"

namespace kiln::interp::capture {
namespace {

constexpr std::size_t kMostNodes = 400;  // of all trips together
// Elements: what a trip does besides running its ops is little beside that of ops on more.
constexpr std::int64_t kFewElements = 1 << 13;

// Does the entry end where the next trip begins, or where the loop takes its next item?
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

// A range has to have as many numbers left. Those that ops may take for their own defaults would be fixed.
bool range_lasts(const Frame& frame, std::size_t step, int trips) {
  const Value* const state = frame.base + frame.code->instructions[step].a;
  if (frame.code->opcode_at(step) != Opcode::NextFor) return true;
  if (!state[0].is(Tag::Int) || state[1].as_int() < trips - 1) return false;
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  const std::int64_t next = state[0].as_int(), by = state[2].as_int();
  if (std::abs(next) > kFar || std::abs(by) > kFar / trips) return false;
  for (int k = -1; k < trips - 1; ++k) {
    if (std::abs(next + k * by) <= 1) return false;
  }
  return true;
}

}  // namespace

TripLimits& trip_limits() {
  static TripLimits limits;
  return limits;
}

namespace {

// How many the next one beside `entry` would hold; 0: there is to be none.
int trips_held(const Entry& entry, const Frame& frame) {
  const TripLimits& limits = trip_limits();
  if (!entry.varying.in_loop || entry.varying.trips > 1 || entry.several.size() > 1) return 0;
  const std::size_t top = frame.place();
  const std::size_t nodes = entry.captured.nodes.size();
  if (frame.code->loops().at(top) == nullptr || nodes == 0 || !comes_around(entry, *frame.code, top) ||
      !is_small(entry))
    return 0;
  const auto most = static_cast<int>(std::min(static_cast<std::size_t>(limits.most), kMostNodes / nodes));
  const int trips = entry.several.empty() ? most : limits.fewest;
  return trips >= limits.fewest ? trips : 0;
}

}  // namespace

int worth_trips(const Entry& entry, const Frame& frame) {
  const auto asked = static_cast<std::int64_t>(entry.several.size());
  if (entry.hits < trip_limits().after * (asked + 1)) return 1;
  const int trips = trips_held(entry, frame);
  if (trips == 0) return 1;
  const std::size_t step = frame.code->loops().at(frame.place())->end - 1;
  return range_lasts(frame, step, trips) ? trips : 1;
}

bool may_hold_trips(const Entry& entry, const Frame& frame) {
  // Where it was not asked for by then, the loop does not say how many trips there will be.
  const bool still_may = entry.several.empty() && entry.hits < 2 * trip_limits().after;
  return still_may && trips_held(entry, frame) > 0;
}

}  // namespace kiln::interp::capture

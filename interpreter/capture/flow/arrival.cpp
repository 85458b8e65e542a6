#include "interpreter/capture/flow/place.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "interpreter/capture/beside.h"
#include "interpreter/capture/check.h"
#include "interpreter/capture/compiled.h"
#include "interpreter/capture/hot.h"
#include "interpreter/interpreter.h"
#include "interpreter/shadow.h"
#include "jit/graph/trace.h"
#include "jit/passes/run_recipe.h"
#include "jit/pipeline/loop_level.h"
#include "tensor/timeline.h"

namespace kiln::interp::capture {
namespace {

constexpr int kMostReadings = 2;             // that give no flow
constexpr std::int64_t kBetweenAsking = 16;  // arrivals between two looks at the clock, or two readings
// Iterations that are worth a reading, whatever was captured before.
constexpr std::int64_t kLongLoop = 10'000;
// Iterations in which looking for a flow takes a share of the time that can be measured.
constexpr std::chrono::microseconds kShortIteration{4};
constexpr std::int64_t kFewTrips = 4;        // a run that leaves the loop's middle after so few was in vain
constexpr std::int64_t kMostShortRuns = 16;  // before the flow is dropped, if these are the majority
constexpr std::int64_t kMostMisses = 64;     // for each hit, where there are as many flows as there may be
constexpr std::int64_t kWarm = 8;            // hits before flows are timed
constexpr std::int64_t kTriedAgain = 8;   // after a trial, the next one comes at so many times as many hits
constexpr std::int64_t kTriedLater = 64;  // where it was clear what pays

// One arrival at the top of a loop.
class Arrival {
 public:
  Arrival(Vm& vm, const Loop& loop, FlowPlace& place, const CompileOptions& options)
      : vm_(vm), loop_(loop), place_(place), options_(options) {}

  std::optional<Next> go_on() {
    // What the interpreter does counts, and is what flows are compared with.
    if (checking() && !shadow::active() && Beside::under_way()) return std::nullopt;
    ++place_.reached;
    if (is_interpreters_turn() || !place_.given_up.empty()) return std::nullopt;
    take_pending();
    if (const auto next = run_any()) return next;
    if (place_.pending != nullptr) return Next::Interpret;  // no entry is worth capturing any more
    if (count_miss() || place_.reached < place_.due || !may_read()) return std::nullopt;
    return read() ? run_any() : std::nullopt;
  }

 private:
  void give_up(std::string why) {
    place_.given_up = std::move(why);
    place_.entries.clear();
    place_.trial.reset();
  }

  // Counts an arrival at which no flow holds. It gives the place up, and says so by true, when there are as
  // many flows as there may be and hardly any of them is ever run.
  bool count_miss() {
    if (place_.entries.size() < kMostFlows || ++place_.misses < kMostMisses * (place_.hits + 1)) return false;
    give_up(fmt::format("of {} times that it came there, in {} no flow graph held",
                        place_.misses + place_.hits, place_.misses));
    return true;
  }

  // ---- Running ----

  // nullopt: no flow holds.
  std::optional<Next> run_any() {
    for (const auto& entry : place_.entries) {
      const std::optional<FlowInputs> inputs = inputs_of(vm_, entry->loop);
      if (inputs) return hit(*entry, *inputs);
    }
    return std::nullopt;
  }

  Next hit(FlowEntry& entry, const FlowInputs& inputs) {
    ++place_.hits;
    follow_outer();
    if (!checking() || shadow::active()) return run(entry, inputs);
    if (!std::has_single_bit(static_cast<std::uint64_t>(place_.hits))) return Next::Interpret;
    const Region region{vm_.frame(), loop_.top, loop_.end};
    const auto tell = [&](const std::string& difference) {
      tell_difference(vm_.interpreter(), "the loop " + entry.loop.graph->name, difference);
    };
    const auto compiled = [&] { return run(entry, inputs); };
    return Beside::run(vm_, region, compiled, [] { return Next::Interpret; }, tell, true);
  }

  Next run(FlowEntry& entry, const FlowInputs& inputs) {
    if (is_time_for_trial()) place_.trial.emplace().arrive();
    Frame* const frame = vm_.frame();
    const std::optional<FlowRun> done = run_flow(vm_, entry, inputs);
    if (!done) {
      place_.trial.reset();
      count_refused(entry);
      vm_.check_interrupt();
      return Next::Interpret;
    }
    if (place_.trial) time(*done);
    count_short(entry, *done);
    vm_.check_interrupt();
    // A flow that left at the top of the loop could not do its first instruction, so the interpreter does
    // that one. At any other place the instruction may have a mark of its own, which is looked at first.
    return frame->place() == loop_.top ? Next::Interpret : Next::Dispatch;
  }

  // The trial counts the time of this run alone, and not the time until the loop begins again. It compares
  // times of one trip, so a loop whose number of trips is not known has no trial.
  void time(const FlowRun& done) {
    if (!done.outer_trips) {
      place_.trial.reset();
      place_.tried_at = std::numeric_limits<std::int64_t>::max();
      return;
    }
    place_.trial->done_by_entry(static_cast<int>(std::min<std::int64_t>(*done.outer_trips, 1 << 30)));
    place_.trial->arrive();
  }

  // Drops a flow whose runs mostly cannot be recorded.
  void count_refused(const FlowEntry& entry) {
    if (entry.refused < kMostShortRuns || entry.refused < entry.runs) return;
    give_up(fmt::format("of {} times that it was to run, in {} {}", entry.runs + entry.refused, entry.refused,
                        entry.refusal));
  }

  // Drops a flow that mostly leaves within the loop as soon as it has begun.
  void count_short(FlowEntry& entry, const FlowRun& done) {
    const LoopFlow::Exit& exit = entry.loop.exits[static_cast<std::size_t>(done.exit)];
    if (exit.leaves_loop || done.trips > kFewTrips) return;
    if (++entry.short_runs < kMostShortRuns || 2 * entry.short_runs < entry.runs) return;
    give_up(fmt::format("of {} times that it ran, it left {} after {} trips at most, since {}", entry.runs,
                        entry.short_runs, kFewTrips,
                        entry.loop.graph->exits[static_cast<std::size_t>(done.exit)].reason));
  }

  // The loop around one that works is read, too.
  void follow_outer() {
    if (place_.hits != 2) return;
    const Frame& frame = *vm_.frame();
    for (const Loop& each : frame.code->loops().around(loop_.top)) {
      if (each.top == loop_.top) continue;
      vm_.follow_loop(frame.function->owner, each.top);
      if (const auto outer = followed_at(*frame.code, each.top)) outer->is_around = true;
      return;
    }
  }

  // ---- Is it worth it? ----

  bool is_time_for_trial() const {
    return options_.measured && !checking() && !place_.trial &&
           place_.hits >= std::max(place_.tried_at, kWarm);
  }
  bool is_interpreters_turn() {
    if (!place_.trial) return false;
    Trial& trial = *place_.trial;
    trial.arrive();
    if (trial.is_over()) {
      std::string verdict = trial.verdict();
      place_.tried_at = place_.hits * (trial.is_clear() ? kTriedLater : kTriedAgain);
      place_.trial.reset();
      if (!verdict.empty()) give_up(std::move(verdict));
      return false;
    }
    if (trial.is_interpreters()) trial.done_by_interpreter();
    return trial.is_interpreters();
  }

  // ---- Reading ----

  bool may_read() {
    if (place_.entries.size() == kMostFlows || place_.failures >= kMostReadings) return false;
    place_.due = place_.reached + kBetweenAsking;
    const bool is_long = place_.reached >= kLongLoop && place_.failures == 0;
    if (!options_.timed || is_long || vm_.capture_budget().allows(false)) return true;
    rest_where_short();
    return false;
  }

  // A loop that is not read yet is looked at in each iteration, which takes as long as some instructions.
  // Where iterations are not much longer it goes on without a mark, and is looked at again when it was
  // counted again. One around a flow has few iterations that are counted.
  void rest_where_short() {
    const Clock::time_point now = Clock::now();
    const bool is_short = now - std::exchange(place_.refused_at, now) < kBetweenAsking * kShortIteration;
    place_.rests = is_short && place_.entries.empty() && !place_.is_around && !place_.is_asked_for;
  }

  // Reads the loop as it stands. True: there is another flow that may run.
  bool read() {
    const Clock::time_point before = Clock::now();
    LoopReading reading;
    {
      const timeline::Span span(timeline::Kind::Capture, vm_.frame()->code->name);
      reading = read_loop(vm_, loop_, true, {}, jit::gradient_around());
    }
    vm_.capture_budget().spend(Clock::now() - before);
    // Constants of graphs are no tensors of the transform that is under way.
    const jit::NoLevels apart;
    if (!reading.flow) {
      failed(std::move(reading.reason));
      return false;
    }
    if (const std::string fault = jit::find_fault(*reading.flow->graph); !fault.empty()) {
      const std::string graph = jit::to_string(*reading.flow->graph);
      if (jit::verifies_passes()) throw InternalError("a flow graph is wrong: " + fault + "\n" + graph);
      failed("its flow graph is wrong, which is a mistake of Kiln: " + fault);
      return false;
    }
    if (vm_.interpreter().options().evaluates_flows) {
      MadeFlow made = make_flow(reading.flow->graph, reading.flow->wanted, false);
      return add(std::move(*reading.flow), "step by step", std::move(made));
    }
    place_.expected_trips = trips_left(*reading.flow, *vm_.frame());
    place_.pending = std::make_unique<PendingFlow>(std::move(*reading.flow), options_.timed);
    return take_pending();
  }

  void failed(std::string reason) {
    place_.latest_reason = std::move(reason);
    if (++place_.failures >= kMostReadings && place_.entries.empty()) give_up(place_.latest_reason);
  }

  // Makes an entry of the flow whose code is there.
  bool take_pending() {
    if (place_.pending == nullptr || !place_.pending->is_ready()) return false;
    const std::unique_ptr<PendingFlow> pending = std::move(place_.pending);
    MadeFlow code = pending->take_code();
    return add(pending->take_loop(), "machine code", std::move(code));
  }
  bool add(LoopFlow loop, const std::string& form, MadeFlow made) {
    if (!made.run && !made.differentiated) {
      failed(std::move(made.reason));
      return false;
    }
    auto entry = std::make_unique<FlowEntry>();
    entry->loop = std::move(loop);
    entry->form = made.differentiated ? "forward and backward " + form : form;
    entry->run = std::move(made.run);
    entry->differentiated = std::move(made.differentiated);
    entry->code_bytes = made.code_bytes;
    place_.entries.push_back(std::move(entry));
    return true;
  }

  Vm& vm_;
  Loop loop_;
  FlowPlace& place_;
  const CompileOptions& options_;
};

}  // namespace

std::optional<Next> follow(Vm& vm, const Loop& loop, FlowPlace& place, const CompileOptions& options) {
  return Arrival(vm, loop, place, options).go_on();
}

}  // namespace kiln::interp::capture

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "interpreter/capture/backend.h"
#include "interpreter/capture/beside.h"
#include "interpreter/capture/check.h"
#include "interpreter/capture/compiled.h"
#include "interpreter/capture/generalize.h"
#include "interpreter/capture/own_backend.h"
#include "interpreter/capture/registers.h"
#include "interpreter/capture/trips.h"
#include "interpreter/capture/varying.h"
#include "interpreter/interpreter.h"
#include "interpreter/shadow.h"

namespace kiln::interp::capture {
namespace {

constexpr int kMostTries = 2;                // of captures that come to nothing, at one place
constexpr std::int64_t kWarm = 8;            // hits at a place before its entries are timed
constexpr std::int64_t kTriedAgain = 8;      // then so many times as many
constexpr std::int64_t kBetweenAsking = 16;  // how often a place is reached between looks at the clock

// The instructions that may come after one get marks: what follows is captured when it is reached.
void mark(const Code& code, std::size_t pc) {
  while (code.opcode_at(pc) == Opcode::Word) ++pc;
  code.mark(pc);
}
void mark_after(const Code& code, std::size_t pc) {
  const Opcode op = code.opcode_at(pc);
  if (goes_on(op)) mark(code, pc + 1);
  const bool jumps = op != Opcode::Return && op != Opcode::ReturnNone && jump_of(code, pc) != 0;
  if (jumps) mark(code, static_cast<std::size_t>(static_cast<std::int64_t>(pc) + jump_of(code, pc)));
}

bool computes(const Entry& entry) { return !entry.captured.nodes.empty(); }

bool any_computes(const Place& place) {
  return std::any_of(place.entries.begin(), place.entries.end(),
                     [](const auto& each) { return computes(*each); });
}

class Drive {
 public:
  Drive(Vm& vm, const Region& region, Compiled& compiled)
      : vm_(vm), region_(region), base_(region.base), compiled_(compiled) {}

  Next at_mark() {
    vm_.check_interrupt();
    Frame* const frame = vm_.frame();
    const std::pair where{frame->code, frame->place()};
    std::shared_ptr<Place>& known = compiled_.places[where];
    if (!known) known = std::make_shared<Place>();
    if (++known->reached < known->due || !known->given_up.empty())
      return leave_to_interpreter(*known, *frame);
    const std::shared_ptr<Place> place = known;
    if (place->trial && is_interpreters_turn(*place)) return Next::Interpret;
    if (!place->given_up.empty()) return leave_to_interpreter(*place, *frame);
    if (const auto next = entered_for_several(*place)) return *next;
    for (const auto& entry : place->entries) {
      if (const auto next = entered(*place, *entry)) return *next;
    }
    if (is_closed(*place)) {
      leave_alone(*frame);
      return Next::Interpret;
    }
    if (!place->entries.empty() && ++place->misses > place->hits && place->misses + place->hits >= kTrial &&
        compiled_.options.may_wait) {
      give_up(*place, fmt::format("of {} times that it came there, in {} no entry held",
                                  place->misses + place->hits, place->misses));
      return leave_to_interpreter(*place, *frame);
    }
    note_recompile(*place, frame);
    if (compiled_.options.timed && !vm_.capture_budget().allows(!place->entries.empty())) {
      place->due = place->reached + kBetweenAsking;
      return Next::Interpret;
    }
    const Clock::time_point before = Clock::now();
    const Next next = capture(*place);
    vm_.capture_budget().spend(Clock::now() - before);
    // Without a step forward, or for a loop that came around to nothing, it would be tried for ever.
    const bool stands = next == Next::Dispatch && vm_.frame() == frame && frame->place() == where.second;
    return stands && place->entries.empty() ? Next::Interpret : next;
  }

 private:
  static bool is_closed(const Place& place) {
    if (place.is_full || place.failures > kMostTries) return true;
    return place.hollow > kMostTries && !any_computes(place);
  }

  // Likewise by an entry for several trips. One that hardly ever holds is let go of.
  std::optional<Next> entered_for_several(Place& place) {
    constexpr std::int64_t kMostMisses = 256;
    Entry* useless = nullptr;
    for (const auto& entry : place.several) {
      if (const auto next = entered(place, *entry)) return next;
      if (++entry->misses > kMostMisses && entry->misses > 64 * entry->hits) useless = entry.get();
    }
    if (useless != nullptr) drop(place, *useless);
    return std::nullopt;
  }

  // Nothing: the entry does not hold here and now.
  std::optional<Next> entered(Place& place, Entry& entry) {
    Frame* const frame = vm_.frame();
    if (!entry.begins_at(frame, base_)) return std::nullopt;
    Found found(entry.sources, frame);
    Numbers numbers(vm_.interpreter(), entry.exprs, found);
    if (entry.failing(found, numbers) != nullptr) return std::nullopt;
    if (is_time_for_trial(place, entry)) place.trial.emplace();
    if (!entry.run && computes(entry)) {
      compile_late(place, entry);
      return Next::Interpret;
    }
    // What became hot by itself waits for nothing.
    if (entry.ready && compiled_.options.timed && !entry.ready()) return Next::Interpret;
    entry.ready = nullptr;
    if (entry.wait && !settle(place, entry)) return Next::Interpret;
    if (const int trips = several_worth(place, entry); trips > 1) return capture_trips(place, entry, trips);
    if (!checking() || shadow::active()) return hit(place, entry, found, numbers);
    const auto check = [&]() -> std::optional<Next> {
      if (const auto next = checked(place, entry, found, numbers)) return next;
      return hit(place, entry, found, numbers);
    };
    return is_due(entry) ? beside(place, entry, found, numbers, check) : check();
  }

  // After so many hits the entry is also run beside the interpreter in a process of its own: at first, and
  // less often later.
  static bool is_due(const Entry& entry) {
    return !Beside::under_way() && std::has_single_bit(static_cast<std::uint64_t>(entry.hits) + 1);
  }
  template <class F>
  Next beside(Place& place, Entry& entry, Found& found, Numbers& numbers, const F& check) {
    const std::string name = entry.captured.name;
    const bool told = entry.told || compiled_.told_beside;
    const std::int64_t before = differences_found();
    const auto compiled = [&] { return hit(place, entry, found, numbers).value_or(Next::Interpret); };
    const auto checked = [&] { return check().value_or(Next::Interpret); };
    return Beside::run(vm_, region_, compiled, checked, [&](const std::string& difference) {
      // Else it was told already, with a graph that shows it.
      if (told || differences_found() != before) return;
      compiled_.told_beside = true;
      tell_difference(vm_.interpreter(), name, difference);
    });
  }
  int several_worth(const Place& place, const Entry& entry) const {
    const bool may = compiled_.options.backend != kAsCaptured && place.several.size() < kMostEntries;
    return may ? worth_trips(entry, *vm_.frame()) : 1;
  }

  // True: the next trip is the interpreter's turn in the trial of this place, or the trial has ended now.
  bool is_interpreters_turn(Place& place) {
    Trial& trial = *place.trial;
    trial.arrive();
    if (trial.is_over()) {
      std::string verdict = trial.verdict();
      place.tried_at = place.hits * kTriedAgain;
      place.trial.reset();
      if (!verdict.empty()) give_up(place, std::move(verdict));
      return false;
    }
    if (trial.is_interpreters()) trial.done_by_interpreter();
    return trial.is_interpreters();
  }
  // An entry for several trips of a loop is what counts, where there is to be one.
  bool is_time_for_trial(const Place& place, const Entry& entry) const {
    if (!compiled_.options.timed || place.trial || place.hits < std::max(place.tried_at, kWarm)) return false;
    return !place.several.empty() || !may_hold_trips(entry, *vm_.frame());
  }

  // A mark that only costs time goes.
  Next leave_to_interpreter(const Place& place, const Frame& frame) const {
    const bool for_good = !place.given_up.empty() || (compiled_.options.timed && place.due == kNever);
    if (for_good && &frame == base_ && !is_needed(*frame.code, frame.place()))
      frame.code->unmark(frame.place());
    return Next::Interpret;
  }
  // Does something that may run compiled begin with it, in the code that the region is of?
  bool is_needed(const Code& code, std::size_t pc) const {
    if (!begins_region(pc)) return false;
    return std::any_of(compiled_.places.begin(), compiled_.places.end(), [&](const auto& each) {
      const auto& [where, place] = each;
      return place->given_up.empty() && place->due != kNever && !(where.first == &code && where.second == pc);
    });
  }
  bool begins_region(std::size_t pc) const {
    return pc == 0 || std::count(compiled_.loops.begin(), compiled_.loops.end(), pc) > 0;
  }
  void give_up(Place& place, std::string why) {
    place.given_up = std::move(why);
    while (!place.several.empty()) drop(place, *place.several.back());
    while (!place.entries.empty()) drop(place, *place.entries.back());
  }

  // Where nothing at all can be compiled, calls and loops no longer ask.
  void leave_alone(const Frame& frame) const {
    if (&frame != base_ || std::any_of(compiled_.in_order.begin(), compiled_.in_order.end(),
                                       [](const Entry* each) { return computes(*each); }))
      return;
    if (begins_region(frame.place())) frame.code->unmark(frame.place());
  }

  // The interpreter's call is the one that counts, and is done once; the entry runs on copies. Nothing: there
  // is nothing to compare.
  std::optional<Next> checked(Place& place, Entry& entry, Found& found, Numbers& numbers) {
    const std::optional<Check> check = Check::begin(entry, found, numbers);
    if (!check) return std::nullopt;
    const Tracer::Outcome recorded = Tracer(vm_, region_, entry.varying).run();
    const Next next = next_after(recorded);
    count_hit(place, entry);
    const std::string difference = entry.told ? "" : check->difference(entry, recorded);
    if (!difference.empty()) {
      entry.told = true;
      keeping_result(next, [&] { check->tell(vm_.interpreter(), compiled_.options, entry, difference); });
    }
    return next;
  }

  // Where the machine has come to by a call that was recorded.
  static Next next_after(const Tracer::Outcome& recorded) {
    if (recorded.returned) return Next::Returned;
    return recorded.stop.steps_over() && !recorded.overrun ? Next::Interpret : Next::Dispatch;
  }

  // Where the result is, a backend of the program puts what it computes.
  template <class F>
  void keeping_result(Next next, F&& f) {
    Value* const at = base_->base - 1;
    Value result;
    if (next == Next::Returned) result.take(*at);
    f();
    if (next == Next::Returned) at->take(result);
  }

  void count_hit(Place& place, Entry& entry) {
    ++entry.hits;
    ++place.hits;
    if (place.trial) place.trial->done_by_entry(entry.varying.trips);
    ++compiled_.hits;
    place.reached += entry.varying.trips - 1;
  }

  // Nothing: it does not hold after all.
  std::optional<Next> hit(Place& place, Entry& entry, Found& found, Numbers& numbers) {
    for (std::size_t k = 0; k < entry.exprs.all.size(); ++k) {
      if (numbers[static_cast<ExprId>(k)].is_unset()) return std::nullopt;
    }
    // When the graph meets an error, the interpreter does it again, and raises it where it belongs.
    if (!apply(entry, found, numbers)) {
      const bool is_useless = ++entry.refused > kMostRefused && entry.refused > entry.hits;
      if (compiled_.options.may_wait && is_useless)
        give_up(place, "its graph holds for few of the sizes that come");
      return Next::Interpret;
    }
    count_hit(place, entry);
    // What the program asked for stays a call of its own in what becomes hot: nothing is gained there.
    if (!compiled_.options.asked_for) vm_.count_ops(base_ - 1, entry.captured.nodes.size());
    if (entry.exit.returns) return Next::Returned;
    return entry.steps_over && entry.exit.condition < 0 ? Next::Interpret : Next::Dispatch;
  }

  // False: the graph could not be run to its end.
  bool apply(const Entry& entry, Found& found, Numbers& numbers) {
    try {
      return entry.apply(vm_, found, numbers);
    } catch (const BackendError& error) {
      warn(std::string(error.what()) + ": the interpreter does what it could not");
      return false;
    }
  }

  // Why no entry fits: the first guard of the latest one that begins here. What differs in numbers and sizes
  // from the latest that tells of any is not fixed again.
  void note_recompile(Place& place, const Frame* frame) {
    bool is_latest = true;
    for (auto at = place.entries.rbegin(); at != place.entries.rend(); ++at) {
      const Entry& entry = **at;
      if (!entry.begins_at(frame, base_)) continue;
      Found found(entry.sources, frame);
      Numbers numbers(vm_.interpreter(), entry.exprs, found);
      const Guard* guard = entry.failing(found, numbers);
      if (guard == nullptr) return;
      if (is_latest) note_reason(guard->difference(entry.sources, entry.exprs, found));
      is_latest = false;
      if (compiled_.options.dynamic == std::optional(false)) return;
      if (note_varying(place.varying, entry, found, numbers)) return;
    }
  }

  // Several graphs of one call may fail for the same reason.
  void note_reason(TensorGuard::Difference difference) {
    const std::pair reason{compiled_.calls, difference.what + "|" + difference.was + "|" + difference.now};
    if (reason != compiled_.recompiled_for) {
      compiled_.recompiles.push_back(
          {std::move(difference.what), std::move(difference.was), std::move(difference.now)});
    }
    compiled_.recompiled_for = reason;
  }

  Next capture(Place& place) {
    Tracer::Outcome outcome;
    try {
      place.varying.all_sizes = compiled_.options.dynamic == std::optional(true);
      if (compiled_.options.dynamic != std::optional(false)) {
        note_names(place.varying, *vm_.frame());
        note_carried(place.varying, *vm_.frame());
      }
      Tracer tracer(vm_, region_, place.varying);
      if (compiled_.options.backend == kAsCaptured) tracer.recorder().keep_given();
      const Generator before = generator();
      outcome = tracer.run();
      if (outcome.entry) outcome.entry->generator = before;
    } catch (...) {
      ++place.failures;
      throw;
    }
    const Stop& stop = outcome.stop;
    if (stop.is_break()) {
      note_break(stop);
      if (compiled_.options.fullgraph) refuse(stop);
    }
    if (outcome.lost.is_break()) {
      note_break(outcome.lost);
      if (compiled_.options.fullgraph) refuse(outcome.lost);
    }
    mark_end(outcome);
    const Next next = next_after(outcome);
    if (!outcome.entry) {
      ++place.failures;
      return next;
    }
    outcome.entry->varying = place.varying;
    keeping_result(next, [&] { add_entry(place, std::move(outcome)); });
    return next;
  }

  // An entry for as many trips of a loop beside that for one. When one of the recorded trips went another way
  // it is not worth another try.
  Next capture_trips(Place& place, Entry& single, int trips) {
    single.several.push_back(trips);
    Varying varying = place.varying;
    varying.trips = trips;
    Tracer::Outcome outcome = Tracer(vm_, region_, varying).run();
    const Next next = next_after(outcome);
    if (!outcome.entry || !outcome.all_trips) return next;
    outcome.entry->varying = std::move(varying);
    keeping_result(next, [&] {
      Entry& entry = *outcome.entry;
      if (!compile(place, entry)) return;
      ++compiled_.compiles;
      compiled_.in_order.push_back(&entry);
      place.several.push_back(std::move(outcome.entry));
    });
    return next;
  }

  // Where the next entries begin.
  void mark_end(const Tracer::Outcome& outcome) {
    if (outcome.lost.is_break() && outcome.entry) {
      const Entry& entry = *outcome.entry;
      mark(*entry.last_code, entry.exit.frames.back().place);
    }
    switch (outcome.stop.end) {
      case End::Break:
      case End::Yield:
        return mark_after(*outcome.code, outcome.place);
      case End::TooLong:
        return mark(*outcome.code, outcome.place);
      case End::LongLoop: {
        const Loop loop = *outcome.code->loops().at(outcome.place);
        mark(*outcome.code, loop.top);
        mark(*outcome.code, loop.end);
        const bool is_known = std::count(compiled_.loops.begin(), compiled_.loops.end(), loop.top) > 0;
        if (outcome.code == base_->code && !is_known) compiled_.loops.push_back(loop.top);
        return;
      }
      default:
        return;
    }
  }

  [[noreturn]] void refuse(const Stop& stop) {
    raise("CaptureError",
          fmt::format("the function cannot be one graph: {} ({}:{})", stop.reason, stop.file, stop.line),
          "without fullgraph=true it becomes several");
  }

  void note_break(const Stop& stop) {
    const bool known = std::any_of(compiled_.breaks.begin(), compiled_.breaks.end(), [&](const Stop& each) {
      return each.reason == stop.reason && each.file == stop.file && each.line == stop.line;
    });
    if (!known) compiled_.breaks.push_back(stop);
  }

  void add_entry(Place& place, Tracer::Outcome outcome) {
    Entry& entry = *outcome.entry;
    if (!computes(entry)) {
      ++place.hollow;
      // Nothing to gain up to there, but where others are tried it must not be captured each time.
      if (!entry.exit.returns && (!outcome.whole || !any_computes(place))) return;
    }
    if (!entry.captured.hints.empty() && !is_general(place, entry)) fix_sizes(place, entry);
    if (waits(entry) && place.entries.empty()) {
      const std::size_t ops = entry.captured.nodes.size();
      place.due = ops <= kFewOps ? kNever : place.reached + kWorthKernels / static_cast<std::int64_t>(ops);
    } else if (computes(entry) && !compile(place, entry)) {
      return;
    }
    if (compiled_.options.backend == kAsCaptured) {
      entry.recorded = std::move(outcome.inputs);
      entry.given = std::move(outcome.given);
    }
    // The code that it is an entry of outlives it: the two would keep each other for ever.
    std::erase_if(entry.owners,
                  [&](const auto& owner) { return owner && owner->compiled.get() == &compiled_; });
    ++compiled_.compiles;
    compiled_.in_order.push_back(&entry);
    place.entries.push_back(std::move(outcome.entry));
    // An entry for each size is what dynamic=false asks for.
    const std::size_t most = compiled_.options.dynamic == std::optional(false) ? kMostFixed : kMostEntries;
    if (place.entries.size() == most) {
      place.is_full = true;
      warn(fmt::format("{} was compiled {} times, new cases run in the interpreter",
                       place.entries.back()->captured.name, kMostEntries));
    }
  }

  // Is the graph so small that its kernels have to be worth compiling first?
  bool waits(const Entry& entry) const {
    if (!compiled_.options.may_wait || checking() || compiled_.options.backend != "fused" || !computes(entry))
      return false;
    const jit::Graph& graph = entry.captured;
    return std::all_of(graph.values.begin(), graph.values.end(), [&](const jit::Value& each) {
      return count_elements(jit::evaluate(each.type, graph.hints).sizes) <= kSmall;
    });
  }

  // What runs the graph. False: there is nothing that could, or not now.
  bool compile(Place& place, Entry& entry) {
    return tried(place, entry, [&] { make_run(place, entry); });
  }
  template <class F>
  bool tried(Place& place, const Entry& entry, const F& f) {
    try {
      f();
      vm_.interpreter().tell_faults();
      return true;
    } catch (const OpError& error) {
      vm_.interpreter().tell_faults();
      if (error.kind() == ErrorKind::Interrupted)
        return false;  // the machine sees it next; later it is done again
      place.is_full = true;
      warn(entry.captured.name + " is not compiled: " + error.message());
      return false;
    }
  }

  // Likewise of an entry that waited, for the calls after this one. One that cannot be run is none.
  void compile_late(Place& place, Entry& entry) {
    if (!compile(place, entry) && place.is_full) drop(place, entry);
  }
  // What is made behind the interpreter is there now. False: it is not.
  bool settle(Place& place, Entry& entry) {
    const bool done = tried(place, entry, [&] {
      entry.wait();
      entry.wait = nullptr;
    });
    if (!done && place.is_full) drop(place, entry);
    return done;
  }
  void drop(Place& place, Entry& entry) {
    std::erase(compiled_.in_order, &entry);
    for (auto* entries : {&place.several, &place.entries})
      std::erase_if(*entries, [&](const auto& each) { return each.get() == &entry; });
  }

  // Where it can only be done for sizes that are known (inputs in one memory), for those alone.
  void make_run(Place& place, Entry& entry) {
    const auto made_of = [&](const jit::Graph& graph) {
      return make_runner(vm_.interpreter(), compiled_.options, graph, entry.wanted_inputs());
    };
    // A backend of the program may look at everything.
    const auto runner = [&] {
      return compiled_.options.own_backend.is_none() ? made_of(entry.captured) : made_of(entry.with_guards());
    };
    Made made;
    try {
      made = runner();
    } catch (const OpError& error) {
      if (error.kind() != ErrorKind::Capture || entry.captured.hints.empty()) throw;
      fix_sizes(place, entry);
      made = runner();
    }
    entry.run = std::move(made.run);
    entry.callable = std::move(made.callable);
    entry.origins = jit::ViewOrigins::of(entry.captured);
    entry.note = std::move(made.note);
    entry.note_of_calls = std::move(made.note_of_calls);
    entry.kernel_bytes = std::move(made.code_bytes);
    entry.wait = std::move(made.wait);
    entry.ready = std::move(made.ready);
  }

  // What earlier entries, made at other sizes, say of the symbols.
  static bool is_general(const Place& place, const Entry& entry) {
    jit::SymbolValues before;
    for (const Symbol& each : entry.exprs.symbols) {
      if (each.expr < 0) before.emplace(each.name, each.before);
    }
    return std::all_of(place.entries.begin(), place.entries.end(), [&](const auto& earlier) {
      return earlier->frames != entry.frames || !earlier->captured.hints.empty() ||
             agrees(entry.captured, before, earlier->captured);
    });
  }

  // Something in the graph depends on sizes in a way that was not seen: the entry is for these sizes alone,
  // and for the numbers that were sizes.
  static void fix_sizes(Place& place, Entry& entry) {
    for (Guard& each : entry.guards) each.tensor.symbols.clear();
    for (const Symbol& each : entry.exprs.symbols) {
      if (each.expr < 0) continue;
      Guard guard;
      guard.kind = Guard::Kind::Computed;
      guard.number = each.expr;
      guard.value = Value(each.hint);
      entry.guards.push_back(std::move(guard));
    }
    entry.captured = at_hints(std::move(entry.captured));
    place.varying.fixed_sizes = true;
  }

  void warn(std::string text) {
    if (!compiled_.options.asked_for) return;
    if (std::count(compiled_.warnings.begin(), compiled_.warnings.end(), text) > 0) return;
    vm_.interpreter().write_error("warning: " + text + "\n");
    compiled_.warnings.push_back(std::move(text));
  }

  Vm& vm_;
  Region region_;
  Frame* base_;
  Compiled& compiled_;
};

}  // namespace

Next drive(Vm& vm, const Region& region, Compiled& compiled) { return Drive(vm, region, compiled).at_mark(); }

}  // namespace kiln::interp::capture

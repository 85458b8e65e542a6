#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "interpreter/capture/backend.h"
#include "interpreter/capture/beside.h"
#include "interpreter/capture/check.h"
#include "interpreter/capture/compiled.h"
#include "interpreter/capture/hot.h"
#include "interpreter/capture/loop_unrolling.h"
#include "interpreter/capture/own_backend.h"
#include "interpreter/capture/varying.h"
#include "interpreter/interpreter.h"
#include "interpreter/shadow.h"
#include "interpreter/vm/registers.h"
#include "tensor/autocast.h"
#include "tensor/timeline.h"

namespace kiln::interp::capture {
namespace {

constexpr int kMostTries = 2;             // captures at one place that give no entry
constexpr std::int64_t kWarm = 8;         // hits at a place before its entries are timed
constexpr std::int64_t kTriedAgain = 8;   // after a trial, the next one comes at so many times as many hits
constexpr std::int64_t kTriedLater = 64;  // where it was clear what pays
constexpr std::int64_t kBetweenAsking = 16;  // arrivals at a place between two looks at the clock

// Marks the instructions that may come after one, so that capture begins when one of them is reached.
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
    drop_outdated(*place);
    if (const auto next = entered_unrolled(*place)) return *next;
    for (const auto& entry : place->entries) {
      if (const auto next = entered(*place, *entry)) return *next;
    }
    // While captures wait for their share of the time, a miss says nothing of those that would come.
    const bool is_final = is_closed(*place);
    if (!is_final && compiled_.options.timed && !vm_.capture_budget().allows(!place->entries.empty())) {
      place->due = place->reached + kBetweenAsking;
      return Next::Interpret;
    }
    if (!place->entries.empty() && ++place->misses > place->hits && place->misses + place->hits >= kTrial &&
        may_give_up()) {
      give_up(*place, fmt::format("of {} times that it came there, in {} no entry held",
                                  place->misses + place->hits, place->misses));
      return leave_to_interpreter(*place, *frame);
    }
    if (is_final) {
      leave_alone(*place, *frame);
      return Next::Interpret;
    }
    note_recompile(*place, frame);
    const Clock::time_point before = Clock::now();
    const Next next = capture(*place);
    vm_.capture_budget().spend(Clock::now() - before);
    // Where the machine has not moved and there is no entry, another dispatch would capture again for ever.
    const bool stands = next == Next::Dispatch && vm_.frame() == frame && frame->place() == where.second;
    return stands && place->entries.empty() ? Next::Interpret : next;
  }

 private:
  static bool is_closed(const Place& place) {
    if (place.is_full || place.failures > kMostTries) return true;
    return place.empty_entries > kMostTries && !any_computes(place);
  }

  // Drops entries that end before the call of a function which is inlined by now, or have one inlined that
  // is no longer.
  void drop_outdated(Place& place) {
    for (auto* entries : {&place.unrolled, &place.entries}) {
      for (std::size_t k = entries->size(); k-- > 0;) {
        if (is_outdated(*(*entries)[k])) drop(place, *(*entries)[k]);
      }
    }
  }
  bool is_outdated(const Entry& entry) const {
    if (entry.runs > 0) return false;
    const std::shared_ptr<Compiled> awaited = entry.awaits.lock();
    if (awaited && compiled_.inlines(*awaited)) return true;
    return std::any_of(entry.inlined.begin(), entry.inlined.end(), [](const std::weak_ptr<Compiled>& each) {
      const std::shared_ptr<Compiled> callee = each.lock();
      return callee && callee->stays_apart;
    });
  }
  // Does the entry end before a function that may be inlined later?
  bool may_grow(const Entry& entry) const {
    const std::shared_ptr<Compiled> callee = entry.awaits.lock();
    return callee && callee->may_join(compiled_);
  }

  // As `entered`, by an entry of several unrolled iterations. One that hardly ever holds is dropped.
  std::optional<Next> entered_unrolled(Place& place) {
    constexpr std::int64_t kMostMisses = 256;
    Entry* useless = nullptr;
    for (const auto& entry : place.unrolled) {
      if (const auto next = entered(place, *entry)) return next;
      if (++entry->misses > kMostMisses && entry->misses > 64 * entry->hits) useless = entry.get();
    }
    if (useless != nullptr) drop(place, *useless);
    return std::nullopt;
  }

  // Runs the entry. nullopt: its guards do not hold now.
  std::optional<Next> entered(Place& place, Entry& entry) {
    Frame* const frame = vm_.frame();
    if (!entry.begins_at(frame, base_)) return std::nullopt;
    SourceValues found(entry.sources, frame);
    Numbers numbers(vm_.interpreter(), entry.exprs, found);
    if (entry.failing(found, numbers) != nullptr) return std::nullopt;
    if (is_time_for_trial(place, entry)) place.trial.emplace();
    if (!entry.run && computes(entry)) {
      compile_late(place, entry);
      return Next::Interpret;
    }
    // A place that became hot by itself does not wait for compilation.
    if (entry.ready && compiled_.options.timed && !entry.ready()) return Next::Interpret;
    entry.ready = nullptr;
    if (entry.wait && !settle(place, entry)) return Next::Interpret;
    if (const int iterations = worth_unrolling(place, entry); iterations > 1)
      return capture_unrolled(place, entry, iterations);
    if (!checking() || shadow::active()) return hit(place, entry, found, numbers);
    const auto check = [&]() -> std::optional<Next> {
      if (const auto next = checked(place, entry, found, numbers)) return next;
      return hit(place, entry, found, numbers);
    };
    return is_due(entry) ? beside(place, entry, found, numbers, check) : check();
  }

  // Is the entry also to be run beside the interpreter, in a process of its own? So after 1, 2, 4, 8 … hits.
  static bool is_due(const Entry& entry) {
    return !Beside::under_way() && std::has_single_bit(static_cast<std::uint64_t>(entry.hits) + 1);
  }
  template <class F>
  Next beside(Place& place, Entry& entry, SourceValues& found, Numbers& numbers, const F& check) {
    const std::string name = entry.captured.name;
    const bool told = entry.told || compiled_.told_beside;
    const std::int64_t before = differences_found();
    const auto compiled = [&] { return hit(place, entry, found, numbers).value_or(Next::Interpret); };
    const auto checked = [&] { return check().value_or(Next::Interpret); };
    return Beside::run(vm_, region_, compiled, checked, [&](const std::string& difference) {
      // Otherwise the difference was reported already, with a graph that shows it.
      if (told || differences_found() != before) return;
      compiled_.told_beside = true;
      tell_difference(vm_.interpreter(), name, difference);
    });
  }
  int worth_unrolling(const Place& place, const Entry& entry) const {
    const bool may = compiled_.options.backend != kAsCaptured && place.unrolled.size() < kMostEntries;
    return may ? iterations_worth_unrolling(entry, *vm_.frame()) : 1;
  }

  // Is the next run the interpreter's turn in the trial of this place? Ends the trial when it is over.
  bool is_interpreters_turn(Place& place) {
    Trial& trial = *place.trial;
    trial.arrive();
    if (trial.is_over()) {
      std::string verdict = trial.verdict();
      place.tried_at = place.hits * (trial.is_clear() ? kTriedLater : kTriedAgain);
      place.trial.reset();
      if (!verdict.empty()) give_up(place, std::move(verdict));
      return false;
    }
    if (trial.is_interpreters()) trial.done_by_interpreter();
    return trial.is_interpreters();
  }
  // A loop that may be unrolled is tried only when it has its unrolled entry.
  bool is_time_for_trial(const Place& place, const Entry& entry) const {
    if (!compiled_.options.measured || checking() || place.trial ||
        place.hits < std::max(place.tried_at, kWarm))
      return false;
    if (may_grow(entry)) return false;
    return !place.unrolled.empty() || !may_be_unrolled(entry, *vm_.frame());
  }

  // Removes the mark if nothing will be compiled there, since it only costs time.
  Next leave_to_interpreter(const Place& place, const Frame& frame) const {
    const bool for_good = !place.given_up.empty() || (compiled_.options.timed && place.due == kNever);
    const bool is_left =
        &frame == base_ ? !is_needed(*frame.code, frame.place()) : !is_needed_elsewhere(frame);
    if (for_good && is_left && !needs_mark(*frame.code, frame.place())) frame.code->unmark(frame.place());
    return Next::Interpret;
  }
  // Does a place that may still run compiled begin here for another function, which calls this one, too, or
  // for the code itself?
  bool is_needed_elsewhere(const Frame& frame) const {
    const Code& code = *frame.code;
    const std::size_t pc = frame.place();
    const Compiled* const own = code.compiled.get();
    if (own != nullptr &&
        ((own->from_start && pc == 0) || std::count(own->loops.begin(), own->loops.end(), pc) > 0))
      return true;
    return any_compiled([&](const Compiled& each) {
      const auto found = each.places.find({&code, pc});
      return &each != &compiled_ && found != each.places.end() && !is_interpreted(*found->second);
    });
  }
  // Does a place that may still run compiled lie in the region that begins at this instruction of the
  // region's code? One in a loop that begins a region itself has that.
  bool is_needed(const Code& code, std::size_t pc) const {
    if (!begins_region(pc)) return false;
    return std::any_of(compiled_.places.begin(), compiled_.places.end(), [&](const auto& each) {
      const auto& [where, place] = each;
      if (is_interpreted(*place)) return false;
      return where.first != &code || (where.second != pc && region_around(code, where.second) == pc);
    });
  }
  // Will the place run compiled no more?
  static bool is_interpreted(const Place& place) {
    return !place.given_up.empty() || place.due == kNever || (is_closed(place) && !any_computes(place));
  }
  // Where the innermost region around an instruction begins.
  std::size_t region_around(const Code& code, std::size_t pc) const {
    for (const Loop& loop : code.loops().around(pc)) {
      if (code.is_marked(loop.top) && begins_region(loop.top)) return loop.top;
    }
    return 0;
  }
  bool begins_region(std::size_t pc) const {
    return pc == 0 || std::count(compiled_.loops.begin(), compiled_.loops.end(), pc) > 0;
  }
  // What became hot by itself is given up where counts say so, in all modes.
  bool may_give_up() const { return compiled_.options.may_wait || compiled_.options.measured; }
  void give_up(Place& place, std::string why) {
    place.given_up = std::move(why);
    while (!place.unrolled.empty()) drop(place, *place.unrolled.back());
    while (!place.entries.empty()) drop(place, *place.entries.back());
    // Others were compared with an interpreter that came through this place: they are tried anew.
    for (const auto& [where, other] : compiled_.places) {
      other->tried_at = 0;
      other->trial.reset();
    }
  }

  // Removes the mark of a closed place that runs nothing compiled, unless its region has another that does.
  void leave_alone(const Place& place, const Frame& frame) const {
    if (any_computes(place) || needs_mark(*frame.code, frame.place())) return;
    if (&frame != base_) {
      if (!is_needed_elsewhere(frame)) frame.code->unmark(frame.place());
      return;
    }
    const bool is_any_computed = std::any_of(compiled_.in_order.begin(), compiled_.in_order.end(),
                                             [](const Entry* each) { return computes(*each); });
    if (!is_any_computed || !is_needed(*frame.code, frame.place())) frame.code->unmark(frame.place());
  }

  // Compares the entry with the interpreter, whose call counts and is done once; the entry runs on copies.
  // nullopt: there is nothing to compare.
  std::optional<Next> checked(Place& place, Entry& entry, SourceValues& found, Numbers& numbers) {
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

  // How the machine goes on after a recorded run.
  static Next next_after(const Tracer::Outcome& recorded) {
    if (recorded.returned) return Next::Returned;
    return recorded.stop.steps_over() && !recorded.overrun ? Next::Interpret : Next::Dispatch;
  }

  // Calls f, and keeps the result register, which a backend of the program would overwrite.
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
    if (place.trial) place.trial->done_by_entry(entry.varying.iterations);
    ++compiled_.hits;
    for (const std::weak_ptr<Compiled>& each : entry.inlined) {
      const std::shared_ptr<Compiled> callee = each.lock();
      if (callee) ++callee->calls, ++callee->hits;
    }
    place.reached += entry.varying.iterations - 1;
  }

  // Runs the entry, whose guards hold. nullopt: it cannot run after all.
  std::optional<Next> hit(Place& place, Entry& entry, SourceValues& found, Numbers& numbers) {
    for (std::size_t k = 0; k < entry.exprs.all.size(); ++k) {
      if (numbers[static_cast<ExprId>(k)].is_unset()) return std::nullopt;
    }
    // When the graph meets an error, the interpreter runs the code again, and raises the error at its place.
    if (!apply(entry, found, numbers)) {
      const bool is_useless = ++entry.refused > kMostRefused && entry.refused > entry.hits;
      if (may_give_up() && is_useless) give_up(place, "its graph holds for few of the sizes that come");
      return Next::Interpret;
    }
    count_hit(place, entry);
    // A function that the program asked to compile does not make its caller hot: nothing would be gained.
    if (!compiled_.options.asked_for) vm_.count_ops(base_ - 1, entry.captured.nodes.size());
    if (entry.exit.returns) return Next::Returned;
    return entry.steps_over && entry.exit.condition < 0 ? Next::Interpret : Next::Dispatch;
  }

  // False: the graph met an error.
  bool apply(const Entry& entry, SourceValues& found, Numbers& numbers) {
    struct Run {
      const Entry& entry;
      explicit Run(const Entry& which) : entry(which) { ++entry.runs; }
      ~Run() { --entry.runs; }
      Run(const Run&) = delete;
      Run& operator=(const Run&) = delete;
    } const under_way(entry);
    try {
      return entry.apply(vm_, found, numbers);
    } catch (const BackendError& error) {
      warn(std::string(error.what()) + ": the interpreter does what it could not");
      return false;
    }
  }

  // Notes why no entry fits: the first failing guard of the latest entry that begins here. Numbers and sizes
  // that differ from those of the latest entry are not fixed again.
  void note_recompile(Place& place, const Frame* frame) {
    bool is_latest = true;
    for (auto at = place.entries.rbegin(); at != place.entries.rend(); ++at) {
      const Entry& entry = **at;
      if (!entry.begins_at(frame, base_)) continue;
      SourceValues found(entry.sources, frame);
      Numbers numbers(vm_.interpreter(), entry.exprs, found);
      const Guard* guard = entry.failing(found, numbers);
      if (guard == nullptr) return;
      if (is_latest) note_reason(guard->difference(entry.sources, entry.exprs, found));
      is_latest = false;
      if (compiled_.options.dynamic == std::optional(false)) return;
      if (note_varying(place.varying, entry, found, numbers)) return;
    }
  }

  // Notes each reason once in a call, since several graphs of it may fail for the same reason.
  void note_reason(TensorGuard::Difference difference) {
    const std::pair reason{compiled_.calls, difference.what + "|" + difference.was + "|" + difference.now};
    if (reason != compiled_.recompiled_for) {
      compiled_.recompiles.push_back(
          {std::move(difference.what), std::move(difference.was), std::move(difference.now)});
    }
    compiled_.recompiled_for = reason;
  }

  Next capture(Place& place) {
    const kiln::timeline::Span span(kiln::timeline::Kind::Capture, base_->code->name);
    Tracer::Outcome outcome;
    try {
      place.varying.all_sizes = compiled_.options.dynamic == std::optional(true);
      if (compiled_.options.dynamic != std::optional(false)) {
        note_names(place.varying, *vm_.frame());
        note_carried(place.varying, *vm_.frame());
      }
      Tracer tracer(vm_, region_, place.varying);
      if (compiled_.options.backend == kAsCaptured) tracer.recorder().keep_given();
      const kiln::Generator before = generator();
      outcome = tracer.run();
      if (outcome.entry) outcome.entry->generator = before;
      if (!outcome.entry || !computes(*outcome.entry)) compiled_.in_vain += tracer.instructions();
    } catch (...) {
      ++place.failures;
      throw;
    }
    const Stop& stop = outcome.stop;
    if (stop.is_break()) {
      if (const std::shared_ptr<Compiled> callee = stop.within.lock()) callee->stays_apart = true;
      note_break(stop);
      if (compiled_.options.fullgraph) refuse(stop);
    }
    if (outcome.lost.is_break()) {
      note_break(outcome.lost);
      if (compiled_.options.fullgraph) refuse(outcome.lost);
    }
    mark_end(outcome);
    const Next next = next_after(outcome);
    const bool is_in_vain = !outcome.entry || !computes(*outcome.entry);
    if (is_in_vain && stop.end == End::TooLong) compiled_.too_long = stop;
    if (!outcome.entry) {
      ++place.failures;
      return next;
    }
    if (outcome.whole) outcome.entry->awaits = stop.awaits;
    outcome.entry->varying = place.varying;
    keeping_result(next, [&] { add_entry(place, std::move(outcome)); });
    return next;
  }

  // Captures an entry for so many iterations of a loop beside that for one. If a recorded iteration took
  // another path, this is not tried again.
  Next capture_unrolled(Place& place, Entry& single, int iterations) {
    const kiln::timeline::Span span(kiln::timeline::Kind::Capture, base_->code->name);
    single.unrolled.push_back(iterations);
    Varying varying = place.varying;
    varying.iterations = iterations;
    Tracer::Outcome outcome = Tracer(vm_, region_, varying).run();
    const Next next = next_after(outcome);
    if (!outcome.entry || !outcome.all_iterations) return next;
    outcome.entry->varying = std::move(varying);
    keeping_result(next, [&] {
      Entry& entry = *outcome.entry;
      if (!compile(place, entry)) return;
      ++compiled_.compiles;
      compiled_.in_order.push_back(&entry);
      place.unrolled.push_back(std::move(outcome.entry));
    });
    return next;
  }

  // Marks the places where the next entries begin.
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
        // Known from now on, since a flow graph may have a mark there that is no place of entries.
        std::shared_ptr<Place>& place = compiled_.places[{outcome.code, loop.top}];
        if (!place) place = std::make_shared<Place>();
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
    if (!computes(entry) && !entry.awaits.lock()) {
      ++place.empty_entries;
      // The entry saves nothing. It is kept where others are tried, so as not to be captured each time.
      if (!entry.exit.returns && (!outcome.whole || !any_computes(place))) return;
    }
    if (waits(entry) && place.entries.empty()) {
      const std::size_t ops = entry.captured.nodes.size();
      place.due = may_grow(entry)  ? place.reached + kSettled
                  : ops <= kFewOps ? kNever
                                   : place.reached + kWorthKernels / static_cast<std::int64_t>(ops);
    } else if (computes(entry) && !compile(place, entry)) {
      return;
    }
    if (compiled_.options.backend == kAsCaptured) {
      entry.recorded = std::move(outcome.inputs);
      entry.given = std::move(outcome.given);
    }
    // The entry's own code outlives it. Holding that code would be a cycle that is never freed.
    std::erase_if(entry.owners,
                  [&](const auto& owner) { return owner && owner->compiled.get() == &compiled_; });
    ++compiled_.compiles;
    compiled_.in_order.push_back(&entry);
    place.entries.push_back(std::move(outcome.entry));
    // With dynamic=false each size has an entry of its own.
    const std::size_t most = compiled_.options.dynamic == std::optional(false) ? kMostFixed : kMostEntries;
    if (place.entries.size() == most) {
      place.is_full = true;
      warn(fmt::format("{} was compiled {} times, new cases run in the interpreter",
                       place.entries.back()->captured.name, kMostEntries));
    }
  }

  // Does the graph compute so little that it waits until its kernels are worth compiling?
  bool waits(const Entry& entry) const {
    if (!compiled_.options.may_wait || checking() || compiled_.options.backend != "fused" || !computes(entry))
      return false;
    const jit::Graph& graph = entry.captured;
    return std::all_of(graph.values.begin(), graph.values.end(), [&](const jit::Value& each) {
      return count_elements(jit::evaluate(each.type, graph.hints).sizes) <= kSmall;
    });
  }

  // Makes the entry's runner. False: the graph cannot be run, or not now.
  bool compile(Place& place, Entry& entry) {
    const kiln::timeline::Span span(kiln::timeline::Kind::Compile, entry.captured.name);
    const kiln::autocast::Off off;
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
        return false;  // the machine handles the interrupt next; compilation is tried again later
      place.is_full = true;
      warn(entry.captured.name + " is not compiled: " + error.message());
      return false;
    }
  }

  // Compiles an entry that waited, for the calls after this one. Drops it if it cannot be run.
  void compile_late(Place& place, Entry& entry) {
    if (!compile(place, entry) && place.is_full) drop(place, entry);
  }
  // Waits for compilation behind the interpreter. False: it failed.
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
    for (auto* entries : {&place.unrolled, &place.entries})
      std::erase_if(*entries, [&](const auto& each) { return each.get() == &entry; });
  }

  // Makes the runner. Where that needs known sizes, as for inputs that share memory, it is for these sizes
  // alone.
  void make_run(Place& place, Entry& entry) {
    const auto made_of = [&](const jit::Graph& graph) {
      return make_runner(vm_.interpreter(), compiled_.options, graph, entry.wanted_inputs());
    };
    // A backend of the program gets the graph with its guards.
    const auto runner = [&] {
      return compiled_.options.own_backend.is_none() ? made_of(entry.captured) : made_of(entry.with_guards());
    };
    CompiledRunner made;
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

  // The entry then holds for these sizes alone, and for the numbers that were used as sizes.
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
    entry.captured = jit::at_hints(std::move(entry.captured));
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

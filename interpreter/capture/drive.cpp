#include <algorithm>

#include <fmt/format.h>

#include "interpreter/capture/backend.h"
#include "interpreter/capture/check.h"
#include "interpreter/capture/compiled.h"
#include "interpreter/capture/generalize.h"
#include "interpreter/capture/own_backend.h"
#include "interpreter/interpreter.h"

namespace kiln::interp::capture {
namespace {

class Drive {
 public:
  Drive(Vm& vm, Frame* base, Compiled& compiled) : vm_(vm), base_(base), compiled_(compiled) {}

  void run() {
    ++compiled_.calls;
    while (!returned_) at_place();
  }

 private:
  void at_place() {
    vm_.check_interrupt();
    Frame* const frame = vm_.frame();
    Place& place = compiled_.places[{frame->code, frame->place()}];
    if (place.empty_until && !place.is_full) return skip(*place.empty_until);
    for (const auto& entry : place.entries) {
      if (!entry->begins_at(frame, base_)) continue;
      Found found(entry->sources, frame);
      Numbers numbers(vm_.interpreter(), entry->exprs, found);
      if (entry->failing(found, numbers) != nullptr) continue;
      if (checking() && checked(place, *entry, found, numbers)) return;
      if (hit(*entry, found, numbers)) return;
    }
    if (place.is_full || place.failures > 2) {
      if (place.entries.empty() && frame == base_ && frame->place() == 0) leave_alone(*frame->code);
      returned_ = true;
      vm_.execute(base_);
      return;
    }
    note_recompile(place, frame);
    capture(place);
  }

  // Calls of code of which nothing can be compiled no longer ask.
  static void leave_alone(const Code& code) {
    if (code.instructions[0].opcode() == Opcode::Capture)
      code.instructions[0].op = static_cast<std::uint16_t>(code.first);
  }

  // The interpreter's call is the one that counts, and is done once; the entry runs on copies. False: there
  // is nothing to compare.
  bool checked(Place& place, Entry& entry, Found& found, Numbers& numbers) {
    const std::optional<Check> check = Check::begin(entry, found, numbers);
    if (!check) return false;
    const Tracer::Outcome recorded = Tracer(vm_, base_, place.varying).run();
    returned_ = recorded.returned;
    ++entry.hits;
    ++compiled_.hits;
    const std::string difference = entry.told ? "" : check->difference(entry, recorded);
    if (!difference.empty()) {
      entry.told = true;
      keeping_result([&] { check->tell(vm_.interpreter(), compiled_.options, entry, difference); });
    }
    if (!returned_ && recorded.stop.is_break() && !recorded.overrun) returned_ = vm_.step_over(base_);
    return true;
  }

  // Where the result is, a backend of the program puts what it computes.
  template <class F>
  void keeping_result(F&& f) {
    Value* const at = base_->base - 1;
    Value result;
    if (returned_) result.take(*at);
    f();
    if (returned_) at->take(result);
  }

  // False: it does not hold after all.
  bool hit(Entry& entry, Found& found, Numbers& numbers) {
    for (std::size_t k = 0; k < entry.exprs.all.size(); ++k) {
      if (numbers[static_cast<ExprId>(k)].is_unset()) return false;
    }
    const Exit& exit = entry.exit;
    Frame* const first = vm_.frame() - (exit.depth - 1);
    const bool returns = exit.returns;
    std::string complaint;
    if (!apply(entry, found, numbers, complaint)) {
      // The graph met an error: the interpreter does it again, and raises it where it belongs.
      returned_ = true;
      vm_.execute(base_);
      if (!complaint.empty()) warn(complaint + ": the interpreter did what it could not");
      return true;
    }
    ++entry.hits;
    ++compiled_.hits;
    if (returns) {
      returned_ = first == base_;
    } else if (entry.steps_over && exit.condition < 0) {
      returned_ = vm_.step_over(base_);
    }
    return true;
  }

  // False: the graph could not be run to its end. `complaint`: of the program's own backend.
  bool apply(const Entry& entry, Found& found, Numbers& numbers, std::string& complaint) {
    try {
      return entry.apply(vm_, found, numbers);
    } catch (const BackendError& error) {
      complaint = error.what();
      return false;
    }
  }

  void skip(const Place::End& end) {
    if (vm_.run_until(base_, end.depth, end.code, end.place)) {
      returned_ = true;
    } else {
      returned_ = vm_.step_over(base_);
    }
  }

  // Why no entry fits: the first guard of the latest one that begins here. What differs in numbers and sizes
  // alone is not fixed again.
  void note_recompile(Place& place, const Frame* frame) {
    for (auto at = place.entries.rbegin(); at != place.entries.rend(); ++at) {
      const Entry& entry = **at;
      if (!entry.begins_at(frame, base_)) continue;
      Found found(entry.sources, frame);
      Numbers numbers(vm_.interpreter(), entry.exprs, found);
      const Guard* guard = entry.failing(found, numbers);
      if (guard == nullptr) return;
      TensorGuard::Difference difference = guard->difference(entry.sources, entry.exprs, found);
      // Several graphs of one call may fail for the same reason.
      const std::string reason = difference.what + "|" + difference.was + "|" + difference.now;
      if (reason != recompiled_for_) {
        compiled_.recompiles.push_back(
            {std::move(difference.what), std::move(difference.was), std::move(difference.now)});
      }
      recompiled_for_ = reason;
      if (compiled_.options.dynamic != std::optional(false))
        note_varying(place.varying, entry, found, numbers);
      return;
    }
  }

  // Sizes with a name in the signature vary from the start.
  void note_names(Varying& varying) {
    const Frame& frame = *vm_.frame();
    if (frame.place() != 0) return;
    for (std::size_t k = 0; k < frame.code->parameters.size(); ++k) {
      const lang::Annotation* annotation = frame.code->parameters[k].annotation;
      if (annotation == nullptr || !annotation->has_dims || !frame.base[k].is(Tag::Tensor)) continue;
      const Tensor& x = frame.base[k].tensor();
      if (static_cast<std::size_t>(x.rank()) != annotation->dims.size()) continue;
      Source source;
      source.kind = Source::Kind::Register;
      source.number = static_cast<std::int64_t>(k);
      Sources sources;
      const std::string path = sources.path(sources.add(std::move(source)));
      for (int d = 0; d < x.rank(); ++d) {
        const lang::DimAnnotation& dim = annotation->dims[static_cast<std::size_t>(d)];
        if (dim.kind != lang::DimAnnotation::Kind::Expr || dim.expr->kind != lang::ExprKind::Name) continue;
        varying.names.emplace(std::pair{path, d}, lang::as<lang::NameExpr>(*dim.expr).name);
        varying.sizes.emplace(std::pair{path, d}, x.size(d));
      }
    }
  }

  static void note_varying(Varying& varying, const Entry& entry, Found& found, Numbers& numbers) {
    for (const Guard& guard : entry.guards) {
      if (guard.holds(found, numbers)) continue;
      const Value* now = guard.source >= 0 ? found[guard.source] : nullptr;
      if (now == nullptr) continue;
      const std::string path = entry.sources.path(guard.source);
      if (guard.kind == Guard::Kind::Equal && now->tag() == guard.value.tag() &&
          (now->is(Tag::Int) || now->is(Tag::Float))) {
        varying.numbers.emplace(path, guard.value);
      } else if (guard.kind == Guard::Kind::Tensor && now->is(Tag::Tensor)) {
        const Tensor& x = now->tensor();
        if (static_cast<std::size_t>(x.rank()) != guard.tensor.sizes.size()) continue;
        for (int d = 0; d < x.rank(); ++d) {
          const Dim was = guard.tensor.sizes[static_cast<std::size_t>(d)];
          if (was != x.size(d) && was >= 2 && x.size(d) >= 2) varying.sizes.emplace(std::pair{path, d}, was);
        }
      }
    }
  }

  void capture(Place& place) {
    Tracer::Outcome outcome;
    try {
      place.varying.all_sizes = compiled_.options.dynamic == std::optional(true);
      if (compiled_.options.dynamic != std::optional(false)) note_names(place.varying);
      Tracer tracer(vm_, base_, place.varying);
      outcome = tracer.run();
    } catch (...) {
      ++place.failures;
      throw;
    }
    returned_ = outcome.returned;
    if (outcome.stop.is_break()) {
      note_break(outcome.stop);
      if (compiled_.options.fullgraph) refuse(outcome.stop);
    }
    if (outcome.lost.is_break()) {
      note_break(outcome.lost);
      if (compiled_.options.fullgraph) refuse(outcome.lost);
    }
    if (!outcome.entry) {
      ++place.failures;
      return;
    }
    const bool goes_on = !returned_ && outcome.stop.is_break() && !outcome.overrun;
    keeping_result([&] { add_entry(place, std::move(outcome)); });
    if (goes_on) returned_ = vm_.step_over(base_);
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
    const Place::End end{outcome.depth, outcome.code, outcome.place};
    if (entry.captured.nodes.empty() && !entry.exit.returns) {  // nothing to gain up to there
      place.empty_until = end;
      place.is_full = outcome.stop.reason == kTooLong;
      return;
    }
    // It ends before something that cannot be made again, which is part of what comes next.
    if (!entry.exit.returns && !entry.steps_over && outcome.stop.is_break()) {
      const Exit::Activation& last = entry.exit.frames.back();
      compiled_.places[{entry.last_code, last.place}].empty_until = end;
    }
    if (!entry.captured.hints.empty() && !is_general(place, entry)) fix_sizes(place, entry);
    try {
      if (!entry.captured.nodes.empty())
        entry.run = make_runner(vm_.interpreter(), compiled_.options, entry.captured, entry.wanted_inputs(),
                                entry.note);
    } catch (const OpError& error) {
      place.is_full = true;
      return warn(entry.captured.name + " is not compiled: " + error.message());
    }
    if (compiled_.options.backend == kAsCaptured) entry.recorded = std::move(outcome.inputs);
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

  // Something in the graph depends on sizes in a way that was not seen: the entry is for these sizes alone.
  static void fix_sizes(Place& place, Entry& entry) {
    for (Guard& each : entry.guards) each.tensor.symbols.clear();
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
  Frame* base_;
  Compiled& compiled_;
  bool returned_ = false;
  std::string recompiled_for_;  // in this call
};

}  // namespace

void drive(Vm& vm, Frame* base, Compiled& compiled) { Drive(vm, base, compiled).run(); }

}  // namespace kiln::interp::capture

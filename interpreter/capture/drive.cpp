#include <algorithm>

#include <fmt/format.h>

#include "interpreter/capture/backend.h"
#include "interpreter/capture/compiled.h"
#include "interpreter/interpreter.h"

namespace kiln::interp::capture {
namespace {

class Drive {
 public:
  Drive(Vm& vm, Frame* base, Compiled& compiled) : vm_(vm), base_(base), compiled_(compiled) {}

  void run() {
    while (!returned_) at_place();
  }

 private:
  void at_place() {
    Frame* const frame = vm_.frame();
    Place& place = compiled_.places[{frame->code, frame->place()}];
    if (place.empty_until) return skip(*place.empty_until);
    for (const auto& entry : place.entries) {
      if (!entry->begins_at(frame, base_)) continue;
      Found found(entry->sources, frame);
      if (entry->failing(found) != nullptr) continue;
      return hit(*entry, found);
    }
    if (place.is_full || place.failures > 2) {
      returned_ = true;
      vm_.execute(base_);
      return;
    }
    note_recompile(place, frame);
    capture(place);
  }

  void hit(Entry& entry, Found& found) {
    const Exit& exit = entry.exit;
    Frame* const first = vm_.frame() - (exit.depth - 1);
    const bool returns = exit.returns;
    if (!entry.apply(vm_, found)) {
      // The graph met an error: the interpreter does it again, and raises it where it belongs.
      returned_ = true;
      vm_.execute(base_);
      return;
    }
    ++entry.hits;
    ++compiled_.hits;
    if (returns) {
      returned_ = first == base_;
    } else if (entry.steps_over) {
      returned_ = vm_.step_over(base_);
    }
  }

  void skip(const Place::End& end) {
    if (vm_.run_until(base_, end.depth, end.code, end.place)) {
      returned_ = true;
    } else {
      returned_ = vm_.step_over(base_);
    }
  }

  // Why no entry fits: the first guard of the latest one that begins here.
  void note_recompile(const Place& place, const Frame* frame) {
    for (auto at = place.entries.rbegin(); at != place.entries.rend(); ++at) {
      const Entry& entry = **at;
      if (!entry.begins_at(frame, base_)) continue;
      Found found(entry.sources, frame);
      if (const Guard* guard = entry.failing(found)) {
        TensorGuard::Difference difference = guard->difference(entry.sources, found);
        compiled_.recompiles.push_back(
            {std::move(difference.what), std::move(difference.was), std::move(difference.now)});
        return;
      }
    }
  }

  void capture(Place& place) {
    Tracer::Outcome outcome;
    try {
      Tracer tracer(vm_, base_);
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
    if (!outcome.entry) {
      ++place.failures;
      return;
    }
    const bool goes_on = !returned_ && outcome.stop.is_break() && !outcome.overrun;
    add_entry(place, std::move(outcome));
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
    if (entry.captured.nodes.empty() && !entry.exit.returns) {
      place.empty_until = end;  // nothing to gain up to there
      return;
    }
    // It ends before something that cannot be made again, which is part of what comes next.
    if (!entry.exit.returns && !entry.steps_over && outcome.stop.is_break()) {
      const Exit::Activation& last = entry.exit.frames.back();
      compiled_.places[{entry.last_code, last.place}].empty_until = end;
    }
    try {
      if (!entry.captured.nodes.empty())
        entry.run = make_runner(vm_.interpreter(), compiled_.options, entry.captured);
    } catch (const OpError& error) {
      place.is_full = true;
      return warn(entry.captured.name + " is not compiled: " + error.message());
    }
    ++compiled_.compiles;
    compiled_.in_order.push_back(&entry);
    place.entries.push_back(std::move(outcome.entry));
    if (place.entries.size() == kMostEntries) {
      place.is_full = true;
      warn(fmt::format("{} was compiled {} times, new cases run in the interpreter",
                       place.entries.back()->captured.name, kMostEntries));
    }
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
};

}  // namespace

void drive(Vm& vm, Frame* base, Compiled& compiled) { Drive(vm, base, compiled).run(); }

}  // namespace kiln::interp::capture

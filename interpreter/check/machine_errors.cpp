// Errors: what is reported, what is silent, and where the run goes on.
#include <algorithm>

#include "interpreter/check/machine.h"
#include "interpreter/check/operands.h"
#include "interpreter/check/path_ended.h"
#include "interpreter/values/unknown.h"
#include "interpreter/vm/kept_frames.h"

namespace kiln::interp::check {
namespace {

bool is_library(const Frame& frame) { return frame.code->file->is_library(); }

// What a program says itself: where a branch before it was unknown, it may never say it.
bool is_deliberate(Opcode op) {
  return op == Opcode::Throw || op == Opcode::Rethrow || op == Opcode::AssertFailed ||
         op == Opcode::AssertCompareFailed;
}

// Errors after which a function cannot go on: its arguments or its result are not what it works with.
bool ends_call(Opcode op) {
  return op == Opcode::Throw || op == Opcode::Rethrow || op == Opcode::CheckArguments ||
         op == Opcode::CheckResult;
}

// What clean-up on the way out is told where a path ends.
std::exception_ptr end_of_path() {
  return std::make_exception_ptr(lang::UserError({"Error", "this way through the program ends", {}, "", {}}));
}

// Of the instruction that comes in this frame; null when none answers its errors.
const Handler* catching(const Frame& frame) {
  const auto place = static_cast<std::uint32_t>(frame.place());
  for (const Handler& each : frame.code->handlers) {
    if (!each.cleanup && place >= each.begin && place < each.end) return &each;
  }
  return nullptr;
}

// What depends on the machine that the program runs on, or is our own fault.
bool is_of_this_run(const lang::Diagnostic& diagnostic, Opcode op) {
  const std::string& kind = diagnostic.kind;
  return kind == "InternalError" || kind == "OutOfMemory" || kind == "RecursionError" ||
         kind == "CaptureError" || (kind == "IOError" && op != Opcode::Import);
}

}  // namespace

// The result of the instruction is unknown; where it is a branch, both ways are taken.
Machine::Way Machine::skip(Course& course, Frame* frame) {
  if (vm_.frame() > frame) vm_.leave_frames(frame + 1);
  const Opcode op = frame->code->opcode_at(frame->place());
  if (op == Opcode::NextFor || is_branch(op)) return fork(course);
  if (op == Opcode::Throw) return leave_path(course, end_of_path());
  const Handler* const handler = catching(*frame);
  const std::size_t place = frame->place();
  if (is_call(op)) {
    has_skipped_call_ = true;
    forget_what_arguments_may_do(*frame, contents_);
  }
  give_unknown(*frame, contents_);
  if (handler != nullptr && !caught_.contains({frame, handler}))
    return fork_to_handler(course, {place, handler}, true);
  if (handler == nullptr) may_fail(frame - 1);
  ++frame->pc;
  return Way::Goes;
}

// What is called from this frame may fail: when the call is done, its handler is a way, too.
void Machine::may_fail(const Frame* frame) {
  for (; frame >= vm_.frames_begin(); --frame) {
    const Handler* const handler = catching(*frame);
    if (handler == nullptr) continue;
    if (!caught_.contains({frame, handler})) failing_[frame] = {frame->place(), handler};
    return;
  }
}

// The call of this frame that is just done, if something may have failed within it.
std::optional<Machine::FailingCall> Machine::failing_call_of(const Frame* frame) {
  if (failing_.empty()) return std::nullopt;
  const auto found = failing_.find(frame);
  if (found == failing_.end() || frame->place() == found->second.place) return std::nullopt;
  const FailingCall call = found->second;
  failing_.erase(found);
  return frame->place() == call.place + 1 ? std::optional(call) : std::nullopt;
}

// An instruction was skipped, or done, that may have failed. What follows in the same `try` may fail, too,
// and is not asked again.
Machine::Way Machine::fork_to_handler(Course& course, const FailingCall& call, bool comes_back) {
  Frame* const frame = vm_.frame();
  struct Asked {
    std::set<std::pair<const Frame*, const Handler*>>& all;
    std::pair<const Frame*, const Handler*> here;
    ~Asked() { all.erase(here); }
  } const asked{caught_, {frame, call.handler}};
  caught_.insert(asked.here);
  frame->pc = frame->code->instructions.data() + call.place;
  const Branch goes_on{call.place + 1, {}};
  const Branch fails{call.handler->target, {{call.handler->target_register, unknown_value()}}};
  return fork_into(course, {goes_on, fails}, comes_back);
}

// In a handler of C++, for what the instruction of `frame` threw.
Machine::Way Machine::recover(Course& course, Frame* frame) {
  const std::exception_ptr error = std::current_exception();
  const Opcode op = frame->code->opcode_at(frame->place());
  try {
    throw;
  } catch (const Unknowable&) {
    return skip(course, frame);
  } catch (const PathEnded&) {
    return leave_path(course, end_of_path());
  } catch (...) {
    // An error of the program, or its end.
  }
  Failure failure;
  try {
    failure = describe_exception(error);
    if (!failure.is_exit && is_of_this_run(failure.diagnostic, op)) return skip(course, frame);
    if (failure.diagnostic.kind == "Interrupted") has_ended_ = true;
    if (has_ended_) return Way::Over;
    if (failure.is_exit) return leave_path(course, error);
  } catch (const Unknowable&) {
    return skip(course, frame);
  }
  if (op == Opcode::Rethrow && leaving_[frame]) return leave_path(course, error);
  if (is_caught(vm_)) {
    vm_.handle(course.base);
    leaving_[vm_.frame()] = false;
    return Way::Goes;
  }
  if (is_deliberate(op) && !comes_for_certain(frame)) return leave_path(course, error);
  const bool is_of_skipped = has_skipped_call_ && failure.diagnostic.kind == "AutogradError";
  // Which fields and methods there are depends on no items.
  const bool is_of_items =
      failure.diagnostic.kind != "AttributeError" && reads_unknown_items(*frame, contents_);
  // An unknown branch may have asked whether a value is `none`, so errors that speak of it are doubtful.
  const bool is_of_none = !forked_.empty() && reads_none(*frame);
  if (!is_deliberate(op) && (is_of_skipped || is_of_items || is_of_none)) return skip(course, frame);
  if (op != Opcode::Rethrow) report(failure);
  if (ends_call(op) || is_library(*frame)) return leave(course, frame, error);
  if (is_deliberate(op)) {
    ++frame->pc;
    return Way::Goes;
  }
  const bool has_skipped_call = has_skipped_call_;
  const Way way = skip(course, frame);
  if (is_call(op)) has_skipped_call_ = has_skipped_call;  // it is known what this one did
  return way;
}

// The call of `frame` gives no value, and those calls of the library that led to it do not either. What has
// to be done on the way out is done first.
Machine::Way Machine::leave(Course& course, Frame* frame, const std::exception_ptr& error) {
  for (;;) {
    try {
      std::rethrow_exception(error);
    } catch (...) {
      try {
        vm_.handle(frame);
        leaving_[vm_.frame()] = false;
        return Way::Goes;
      } catch (...) {
        // It was left.
      }
    }
    if (frame == course.base) {
      frame->base[-1] = unknown_value();
      return Way::Returned;
    }
    frame = vm_.frame();
    if (!is_library(*frame)) return skip(course, frame);
  }
}

// Leaves all frames of the course, which ends here.
Machine::Way Machine::leave_path(Course& course, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (...) {
    try {
      vm_.handle(course.base);
      leaving_[vm_.frame()] = true;
      return Way::Goes;
    } catch (...) {
      // All were left.
    }
  }
  throw PathEnded();
}

// Were all branches before it certain? For what the library says, those since the program called it: it
// refuses that call.
bool Machine::comes_for_certain(const Frame* frame) const {
  if (!is_library(*frame)) return forked_.empty() && !is_supposed_;
  while (frame >= vm_.frames_begin() && is_library(*frame)) --frame;
  return std::none_of(forked_.begin(), forked_.end(), [frame](const Frame* each) { return each > frame; });
}

void Machine::report(Failure& failure) {
  try {
    place_failure(vm_, failure);
  } catch (const Unknowable&) {
    // The help would speak of an unknown value; the places are there.
  }
  lang::Diagnostic& diagnostic = failure.diagnostic;
  for (const Frame* frame = vm_.frame(); frame >= vm_.frames_begin() && !diagnostic.trace_is_whole; --frame)
    diagnostic.trace.push_back({frame->code->span(frame->place()), frame->code->name});
  add(std::move(diagnostic));
}

}  // namespace kiln::interp::check

#include "interpreter/check/machine.h"

#include <algorithm>
#include <utility>

#include "interpreter/check/operands.h"
#include "interpreter/check/path_ended.h"
#include "interpreter/values/unknown.h"
#include "interpreter/vm/impl.h"
#include "interpreter/vm/members.h"

namespace kiln::interp::check {
namespace {

constexpr std::int64_t kMostInstructions = 1'000'000;
constexpr std::ptrdiff_t kDeepestCall = 200;
// Host functions do not walk longer ranges.
constexpr std::uint64_t kLongestRange = 100'000;

// A method of lists, dicts and sets: it moves items, and what compares them says so where one is unknown.
bool is_container_method(const Native& native, std::span<const Value> arguments) {
  if (arguments.empty() || !(arguments[0].is(Tag::List) || is_dict_or_set(arguments[0]))) return false;
  const HostMember* const member = host_member(arguments[0].tag(), native.name);
  return member != nullptr && member->native.object() == &native;
}

// The arguments that a function looks at: a value that becomes a field is moved.
std::span<const Value> looked_at(const Native& native, std::span<const Value> arguments) {
  return native.name == "setattr" && arguments.size() == 3 ? arguments.first(2) : arguments;
}

}  // namespace

Machine::Machine(Vm& vm, Seen seen)
    : vm_(vm), before_(vm.watcher()), seen_(std::move(seen)), left_(kMostInstructions) {
  vm.set_watcher(this);
}
Machine::~Machine() { vm_.set_watcher(before_); }

void Machine::add(lang::Diagnostic diagnostic) {
  const lang::Span place = diagnostic.user_place();
  if (!place.file || place.file->is_library()) return;
  if (known_.emplace(place.file->name(), place.begin, diagnostic.kind).second)
    found_.push_back(std::move(diagnostic));
}

bool Machine::may_go_on() {
  if (--left_ < 0) has_ended_ = true;
  return !has_ended_;
}

void Machine::begin_supposed() {
  left_ = kMostInstructions;
  has_ended_ = false;
  is_supposed_ = true;
}

// A call begins. Within a function whose ways have parted, another call of it would part in the same way
// again, without an end: its result is unknown.
Machine::Way Machine::enter(Course& course, Frame* frame) {
  tell_arguments(*frame);
  entered_.insert(frame->code->function);
  codes_.try_emplace(frame->code, frame->function->owner);
  heads_.erase(heads_.lower_bound({frame, 0}), heads_.upper_bound({frame, SIZE_MAX}));
  failing_.erase(failing_.lower_bound(frame), failing_.end());
  const bool has_parted = std::any_of(forked_.begin(), forked_.end(),
                                      [&](const Frame* each) { return each->code == frame->code; });
  if (!has_parted || frame == course.base) return Way::Goes;
  vm_.leave_frames(frame);
  return skip(course, vm_.frame());
}

bool Machine::observe(Frame* entry) {
  Course course{entry};
  try {
    enter(course, entry);
    run(course);
  } catch (const PathEnded&) {
    if (entry > vm_.frames_begin()) throw;
    has_ended_ = true;
  }
  if (course.has_returned) return true;
  if (vm_.frame() >= entry) vm_.leave_frames(entry);
  const auto returned = course.endings.find(kReturned);
  if (returned == course.endings.end()) {
    entry->base[-1] = unknown_value();
    return true;
  }
  put_back(returned->second, nullptr);
  entry->base[-1] = returned->second.result;
  return true;
}

void Machine::run(Course& course) {
  for (;;) {
    Frame* const frame = vm_.frame();
    if (!may_go_on()) return;
    const auto failing = failing_call_of(frame);
    if (!failing && frame == course.base && course.stops.contains(frame->place()))
      return add_ending(course.endings, frame->place(), capture(frame));
    switch (failing ? fork_to_handler(course, *failing, false) : advance(course)) {
      case Way::Goes:
        break;
      case Way::Returned: {
        course.has_returned = !course.is_branch && course.endings.empty();
        if (course.has_returned) return;
        State state = capture(nullptr);
        state.result = course.base->base[-1];
        return add_ending(course.endings, kReturned, std::move(state));
      }
      case Way::Over:
        return;
    }
  }
}

Machine::Way Machine::advance(Course& course) {
  Frame* const frame = vm_.frame();
  const Opcode op = frame->code->opcode_at(frame->place());
  if (op == Opcode::Loop || op == Opcode::NextFor) widen(frame);
  if (has_ended_) return Way::Over;
  const bool is_too_deep = is_call(op) && frame - vm_.frames_begin() > kDeepestCall;
  if (is_too_deep || looks_at_unknown(*frame, contents_)) return skip(course, frame);
  tell_operands(*frame);
  const std::size_t place = frame->place();
  try {
    if (vm_.try_step(course.base)) return Way::Returned;
  } catch (...) {
    return recover(course, frame);
  }
  tell_results(frame, place);
  if (op == Opcode::GetAttribute && has_skipped_call_) forget_absent_gradient(*frame);
  return vm_.frame() > frame ? enter(course, vm_.frame()) : Way::Goes;
}

// A call that was skipped may have been a backward pass: what has no gradient may have one.
void Machine::forget_absent_gradient(const Frame& frame) {
  const Instruction& i = frame.pc[-1];
  Value& result = frame.base[i.a];
  if (result.is_none() && frame.code->sites[i.c].name == "grad") result = unknown_value();
}

void Machine::enters(const Native& native, std::span<const Value> arguments,
                     std::span<const std::pair<std::string_view, Value>> named) {
  const auto is_opaque = [&](const Value& v) { return is_unknown(v) || contents_.contains(v); };
  const auto is_long = [](const Value& v) {
    return v.is(Tag::Range) && v.as<Range>().size() > kLongestRange;
  };
  const bool moves_all = is_container_method(native, arguments) && !is_opaque(arguments[0]);
  for (const Value& each : moves_all ? arguments.first(0) : looked_at(native, arguments)) {
    if (is_opaque(each) || is_long(each)) refuse_unknown();
  }
  for (const auto& [name, value] : named) {
    if (is_opaque(value) || is_long(value)) refuse_unknown();
  }
}

}  // namespace kiln::interp::check

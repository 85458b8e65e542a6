// Going both ways where a branch depends on what is unknown.
#include "interpreter/check/machine.h"
#include "interpreter/check/operands.h"
#include "interpreter/check/path_ended.h"
#include "interpreter/values/unknown.h"
#include "interpreter/vm/impl.h"
#include "interpreter/vm/registers.h"
#include "tensor/autocast.h"
#include "tensor/autograd.h"

namespace kiln::interp::check {
namespace {

// A loop is cut after so many iterations in one call, and those in programs after so many in all calls: the
// library's are over layers and parameters, and short.
constexpr int kExactIterations = 8;
constexpr int kAllIterations = 16;
constexpr int kLibraryIterations = 64;
constexpr int kMostRounds = 4;  // through a loop whose end is unknown
constexpr std::size_t kMostForks = 24;

}  // namespace

// Everything reachable from the frames and the main program. The prelude does not change.
State Machine::capture(Frame* frame) {
  Interpreter& interpreter = vm_.interpreter();
  std::vector<Value> roots = values_in_use(vm_);
  roots.push_back(interpreter.impl().main);
  left_ -= static_cast<std::int64_t>(roots.size());
  State state{Heap(roots, interpreter.impl().prelude.object()),
              {},
              {},
              {},
              kiln::grad_enabled(),
              kiln::autocast::state()};
  left_ -= static_cast<std::int64_t>(state.heap.size());
  if (frame == nullptr) return state;
  state.function = frame->base[-1];
  const capture::Liveness& live = frame->code->liveness();
  for (std::uint32_t r = 0; r < frame->code->registers; ++r) {
    const bool is_read = live.is_live(frame->place(), r) || live.is_live_after(frame->place(), r);
    state.registers.push_back(is_read ? frame->base[r] : Value());
  }
  return state;
}

void Machine::put_back(const State& state, Frame* frame) {
  kiln::set_grad_enabled(state.records_gradients);
  kiln::autocast::restore(state.autocast);
  state.heap.put_back();
  if (frame == nullptr) return;
  if (vm_.frame() > frame) vm_.leave_frames(frame + 1);
  vm_.go_back_to(frame);
  frame->base[-1] = state.function;
  for (std::size_t r = 0; r < state.registers.size(); ++r) frame->base[r] = state.registers[r];
}

bool Machine::join(State& state, const State& other) {
  Join join(contents_);
  state.heap.join(other.heap, join);
  join.join_all(state.registers, other.registers);
  state.result = join.join(state.result, other.result);
  return join.has_changed();
}

void Machine::add_ending(Endings& endings, std::size_t place, State state) {
  const auto known = endings.find(place);
  if (known == endings.end()) {
    endings.emplace(place, std::move(state));
  } else {
    join(known->second, state);
  }
}

const Flow& Machine::flow_of(const Code& code) { return flows_.try_emplace(&code, code).first->second; }

std::vector<Machine::Branch> Machine::branches_of(const Frame& frame) {
  const Instruction& i = *frame.pc;
  const std::size_t pc = frame.place();
  const auto target =
      static_cast<std::size_t>(static_cast<std::int64_t>(pc) + capture::jump_of(*frame.code, pc));
  Branch jumps{target, {}};
  Branch falls{pc + 1, {}};
  const Opcode op = frame.code->opcode_at(pc);
  if (op == Opcode::NextFor) {
    jumps.registers = {{i.a, unknown_value()}, {i.b, unknown_value()}};
    falls.registers = {{i.a, Value()}};
  } else if (op == Opcode::JumpIfTrueKeep || op == Opcode::JumpIfFalseKeep || op == Opcode::ChainLink) {
    falls.registers = {{i.a, Value()}};
  } else {
    capture::each_operand(*frame.code, pc, "r", [&](std::uint32_t r) {
      if (!frame.is_temporary(r)) return;
      jumps.registers.emplace_back(r, Value());
      falls.registers.emplace_back(r, Value());
    });
  }
  return {std::move(jumps), std::move(falls)};
}

Machine::Way Machine::fork(Course& course) { return fork_into(course, branches_of(*vm_.frame())); }

Machine::Way Machine::fork_into(Course& course, const std::vector<Branch>& branches, bool comes_back) {
  Frame* const frame = vm_.frame();
  const std::size_t head = frame->place();
  const bool is_nested = forked_.size() >= kMostForks;
  if (is_nested) has_ended_ = true;
  if (has_ended_) return Way::Over;
  const Flow& flow = flow_of(*frame->code);
  const std::size_t meeting = flow.meeting(branches[0].place, branches[1].place);
  Course way{frame};
  way.is_branch = true;
  if (frame == course.base) way.stops = course.stops;
  if (comes_back) way.stops.insert(head);
  if (meeting != flow.end()) way.stops.insert(meeting);
  State before = capture(frame);
  for (int round = 0; round < kMostRounds; ++round) {
    way.endings.clear();
    for (const Branch& branch : branches) go(frame, before, branch, way);
    if (has_ended_) return Way::Over;
    const auto back = way.endings.extract(head);
    if (back.empty() || !join(before, back.mapped())) break;
  }
  return conclude(course, meeting, way);
}

void Machine::go(Frame* frame, const State& before, const Branch& branch, Course& way) {
  put_back(before, frame);
  frame->pc = frame->code->instructions.data() + branch.place;
  for (const auto& [r, value] : branch.registers) frame->base[r] = value;
  forked_.push_back(frame);
  try {
    run(way);
  } catch (const PathEnded&) {
    // Nothing is left of it.
  } catch (...) {
    way.thrown = std::current_exception();
  }
  forked_.pop_back();
}

// Goes on where the ways meet. Those that end elsewhere end in a fork around this one; where one of them
// ended in an error, the handler around the call is a way, too.
Machine::Way Machine::conclude(Course& course, std::size_t meeting, Course& way) {
  Frame* const frame = way.base;
  if (way.thrown != nullptr && !way.endings.empty()) may_fail(frame - 1);
  auto here = way.endings.extract(meeting);
  if (frame == course.base) {
    for (auto& [place, state] : way.endings) add_ending(course.endings, place, std::move(state));
  }
  if (!here.empty()) {
    put_back(here.mapped(), frame);
    frame->pc = frame->code->instructions.data() + meeting;
    return Way::Goes;
  }
  if (vm_.frame() < frame) vm_.go_back_to(frame);
  vm_.leave_frames(frame);
  if (way.endings.empty()) return end_without(course, way);
  if (frame == course.base) return Way::Over;
  const State& returned = way.endings.begin()->second;
  put_back(returned, nullptr);
  frame->base[-1] = returned.result;
  ++vm_.frame()->pc;
  return Way::Goes;
}

// All ways ended in errors: one of them goes on in its handler, if there is one outside.
Machine::Way Machine::end_without(Course& course, const Course& way) {
  if (way.thrown == nullptr || way.base == course.base) {
    if (way.thrown != nullptr) std::rethrow_exception(way.thrown);
    vm_.leave_frames(course.base);
    throw PathEnded();
  }
  try {
    std::rethrow_exception(way.thrown);
  } catch (...) {
    vm_.handle(course.base);
  }
  return Way::Goes;
}

void Machine::widen(Frame* frame) {
  Head& head = heads_[{frame, frame->place()}];
  ++head.passed;
  const bool is_library = frame->code->file->is_library();
  const bool is_exact = head.passed <= (is_library ? kLibraryIterations : kExactIterations);
  const bool is_new = is_library || ++iterations_[{frame->code, frame->place()}] <= kAllIterations;
  if (is_exact && is_new) return;
  const bool is_for = frame->code->opcode_at(frame->place()) == Opcode::NextFor;
  // What an iterator has passed is not put back.
  if (is_for && frame->base[frame->pc->a].is(Tag::Iterator)) frame->base[frame->pc->a] = unknown_value();
  State now = capture(frame);
  if (!head.held) {
    head.held = std::move(now);
  } else if (join(*head.held, now)) {
    put_back(*head.held, frame);
  } else if (!is_for) {
    has_ended_ = true;  // nothing changes any more: it never ends
  }
}

}  // namespace kiln::interp::check

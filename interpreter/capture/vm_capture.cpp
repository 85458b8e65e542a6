// What capture needs of the machine: one instruction at a time, and frames put in the place of frames.
#include <algorithm>
#include <limits>
#include <optional>

#include "interpreter/capture/beside.h"
#include "interpreter/capture/hot.h"
#include "interpreter/capture/stages.h"
#include "interpreter/interpreter.h"
#include "interpreter/vm/impl.h"
#include "interpreter/vm/registers.h"
#include "interpreter/vm/vm.h"
#include "jit/pipeline/loop_level.h"
#include "tensor/levels/level.h"

namespace kiln::interp {
namespace {

void clear_registers(Frame& frame) {
  for (std::uint32_t i = 0; i < frame.code->registers; ++i) frame.base[i].clear();
}

capture::Region whole(Frame* frame) { return {frame, 0, frame->code->instructions.size()}; }

}  // namespace

// Neither while capture looks on, nor inside of a transform, which sees ops one by one: within one that
// differentiates loops may run as flows, which are one step of its tape.
capture::Next Vm::at_mark(Frame* frame, Frame* entry) {
  if (watcher_ != nullptr || !compiling()) return capture::Next::Interpret;
  if (capture::Beside::interprets()) return capture::Next::Interpret;
  if (levels::top != nullptr) {
    if (jit::gradient_around() == nullptr || checking()) return capture::Next::Interpret;
    check_native_stack();
    forget_left_regions(frame);
    return flow_at(frame, std::nullopt).value_or(capture::Next::Interpret);
  }
  const std::optional<capture::Region> region = region_at(frame, entry);
  check_native_stack();
  if (const std::optional<capture::Next> next = flow_at(frame, region)) return *next;
  if (!region || capture::Beside::runs_flows_alone()) return capture::Next::Interpret;
  // Outlives what its last call compiles or releases.
  const Value keep{static_cast<Object*>(const_cast<Function*>(region->base->function))};
  return capture::drive(*this, *region, *region->base->code->compiled);
}

void Vm::forget_left_regions(const Frame* frame) {
  const auto was_left = [frame](const capture::Region& each) {
    return each.base > frame || !each.base->is_driven || !each.contains(each.base->place());
  };
  while (!driven_.empty() && was_left(driven_.back())) driven_.pop_back();
}

// The region that the mark, at which `frame` stands, belongs to: one that is under way, or one that begins
// here. Nothing for marks of other functions that call this one.
std::optional<capture::Region> Vm::region_at(Frame* frame, const Frame* entry) {
  forget_left_regions(frame);
  const capture::Compiled* own = frame->code->compiled.get();
  const std::size_t pc = frame->place();
  const bool begins = own != nullptr && own->from_start && pc == 0;
  if (!begins && !driven_.empty()) {
    const capture::Region& region = driven_.back();
    if (region.base >= entry && frame - region.base < capture::kDeepestCall &&
        std::none_of(region.base, frame, [](const Frame& each) { return each.code->never_compiled; }))
      return region;
  }
  const capture::Loop* loop = nullptr;
  if (!begins) {
    if (own == nullptr || std::count(own->loops.begin(), own->loops.end(), pc) == 0) return std::nullopt;
    loop = frame->code->loops().at(pc);
  }
  frame->is_driven = true;
  driven_.push_back(loop != nullptr ? capture::Region{frame, loop->top, loop->end} : whole(frame));
  if (begins) ++frame->code->compiled->calls;
  return driven_.back();
}

namespace {

capture::CompileOptions options_of(Interpreter& interpreter) {
  capture::CompileOptions options;
  options.backend = interpreter.impl().backend;
  options.may_wait = interpreter.options().hot_after > 0;
  options.timed = options.may_wait && interpreter.options().capture_share > 0 && !checking();
  options.measured = options.timed;
  return options;
}

}  // namespace

namespace {

// Do entries of the region begin there, or are some still to be captured?
bool has_entries_at(const capture::Region& region, const Code& code, std::size_t pc) {
  const capture::Compiled& compiled = *region.base->code->compiled;
  return compiled.places.contains({&code, pc}) ||
         (&code == region.base->code && std::count(compiled.loops.begin(), compiled.loops.end(), pc) > 0);
}

}  // namespace

// Nothing where entries may go on: the place is the top of no loop, or no flow graph runs there now. Within
// what the program compiles in another way all loops run in that way.
std::optional<capture::Next> Vm::flow_at(Frame* frame, const std::optional<capture::Region>& region) {
  const std::size_t pc = frame->place();
  const capture::Loop* const loop = frame->code->loops().at(pc);
  if (loop == nullptr) return std::nullopt;
  const auto other = [](const capture::Region& each) {
    return !capture::allows_flows(each.base->code->compiled->options);
  };
  const Value keep{static_cast<Object*>(const_cast<Function*>(frame->function))};
  std::shared_ptr<capture::FlowPlace> place = capture::followed_at(*frame->code, pc);
  const bool is_marked_for_flow = place != nullptr && (!region || !has_entries_at(*region, *frame->code, pc));
  const auto otherwise = is_marked_for_flow ? std::optional(capture::Next::Interpret) : std::nullopt;
  if (std::any_of(driven_.begin(), driven_.end(), other)) return otherwise;
  if (!place) place = capture::follow_from_now_on(*frame->code, pc, options_of(interpreter_));
  if (!place) return std::nullopt;
  if (levels::top != nullptr) {
    if (!place->in_gradient) place->in_gradient = std::make_shared<capture::FlowPlace>();
    place = place->in_gradient;
  }
  std::optional<capture::Next> next;
  if (place->given_up.empty()) {
    // What the program asked to compile does not wait in the functions that it calls.
    const bool within = !region && levels::top != nullptr && !driven_.empty();
    const auto& around = within ? std::optional(driven_.back()) : region;
    const bool is_asked_for = around && around->base->code->compiled->options.asked_for;
    const Code& by = is_asked_for ? *around->base->code : *frame->code;
    const std::shared_ptr<capture::Compiled> compiled = by.compiled;
    next = capture::follow(*this, *loop, *place, compiled->options);
  }
  if (next) return next;
  const bool is_over = !place->given_up.empty() || place->rests;
  if (is_marked_for_flow && is_over && levels::top == nullptr) frame->code->unmark(pc);
  return otherwise;
}

void Vm::follow_loop(const std::shared_ptr<const Code>& code, std::size_t top) {
  if (code->function->is_generator || !capture::follow_from_now_on(*code, top, options_of(interpreter_)))
    return;
  if (!code->compiled->options.asked_for && std::count(hot_.begin(), hot_.end(), code) == 0)
    hot_.push_back(code);
}

// The active frame stands where a loop begins, or jumps back to its top.
void Vm::loop_is_hot() {
  const Code& code = *frame_->code;
  code.trips = 0;
  if (hot_trips_ == std::numeric_limits<std::int64_t>::max() || !compiling()) return;
  std::size_t jump = frame_->place();
  if (code.opcode_at(jump) == Opcode::BeginFor) {
    while (code.opcode_at(jump) != Opcode::Jump) ++jump;
    jump = static_cast<std::size_t>(static_cast<std::int64_t>(jump) + capture::jump_of(code, jump));
  }
  const std::int64_t top = static_cast<std::int64_t>(jump) + capture::jump_of(code, jump);
  follow_loop(frame_->function->owner, static_cast<std::size_t>(top));
}

// A call of a generator only makes it, and its body is left and entered again in the middle: neither is
// compiled, while what it calls is.
void Vm::compile_when_called(const std::shared_ptr<const Code>& code) {
  if (code->function->is_generator) return;
  if (capture::compile_from_now_on(*code, options_of(interpreter_))) hot_.push_back(code);
}

void Vm::compile_loop(const std::shared_ptr<const Code>& code, std::size_t top) {
  if (code->function->is_generator) return;
  if (capture::compile_loop_from_now_on(*code, top, options_of(interpreter_)) &&
      std::count(hot_.begin(), hot_.end(), code) == 0)
    hot_.push_back(code);
}

void Vm::compile_loops(const std::shared_ptr<const Code>& code) {
  for (const capture::Loop& each : code->loops().all()) compile_loop(code, each.top);
}

// The function, and the innermost loop in it that is under way: what stands at top level runs once.
void Vm::heat_up(Frame* frame) {
  const std::shared_ptr<const Code>& code = frame->function->owner;
  code->heat = 0;
  if (!compiling()) return;
  if (!code->name.empty()) compile_when_called(code);
  for (const capture::Loop& loop : code->loops().around(frame->place())) {
    if (code->is_marked(loop.top)) continue;
    return compile_loop(code, loop.top);
  }
}

void Vm::count_ops(Frame* caller, std::size_t ops) {
  if (caller < frames_begin() || hot_after_ == 0) return;
  const std::size_t heat = caller->code->heat + ops;
  caller->code->heat = static_cast<std::uint32_t>(std::min<std::size_t>(heat, hot_after_));
  if (heat >= hot_after_) heat_up(caller);
}

// Functions of the program that were compiled only because they were hot must become so again.
void Vm::cool_down(const Code* only) {
  std::erase_if(hot_, [only](const std::shared_ptr<const Code>& each) {
    if (only != nullptr && each.get() != only) return false;
    each->heat = 0;
    each->trips = 0;
    each->compiled->from_start = false;
    each->compiled->loops.clear();
    each->compiled->flows.clear();
    for (std::size_t pc = 0; pc < each->instructions.size(); ++pc) each->unmark(pc);
    return true;
  });
}

bool Vm::step(Frame* base) {
  std::uint64_t one = 1;
  return execute(base, &one);
}

bool Vm::try_step(Frame* base) {
  std::uint64_t one = 1;
  return run(base, &one);
}

bool Vm::step_over_mark(Frame* base) {
  skips_mark_ = frame_->code->is_marked(frame_->place());
  return step(base);
}

Frame* Vm::enter_call(Value function, Arguments arguments) {
  begin_host_call(free_registers(), std::move(function), arguments);
  return frame_;
}

void Vm::drop_dead() {
  for (Frame* frame = frame_; frame >= frames_begin(); --frame) {
    const capture::Liveness& live = frame->code->liveness();
    for (std::uint32_t r = 0; r < frame->pc->a; ++r) {
      if (!live.is_live(frame->place(), r) && !live.is_live_after(frame->place(), r)) frame->base[r].clear();
    }
  }
}

void Vm::leave_frames(Frame* first) {
  for (; frame_ >= first; --frame_) {
    clear_registers(*frame_);
    frame_->base[-1].clear();
  }
}

void Vm::replace_frames(const capture::Exit& exit, std::span<const Value> values) {
  const auto value = [&](capture::ValuePlanId id) -> const Value& {
    return values[static_cast<std::size_t>(id)];
  };
  Frame* const first = frame_ - (exit.depth - 1);
  for (; frame_ > first; --frame_) {
    clear_registers(*frame_);
    frame_->base[-1].clear();
  }
  if (exit.returns) {
    clear_registers(*first);
    Value result = value(exit.result);
    first->base[-1].take(result);
    --frame_;
    return;
  }
  Value* base = first->base;
  for (const std::uint32_t r : exit.dropped) base[r].clear();
  for (std::size_t k = 0; k < exit.frames.size(); ++k) {
    const capture::Exit::Activation& activation = exit.frames[k];
    if (k > 0) {
      base[-1].assign(value(activation.function));
      enter(frame_, base[-1].as<Function>(), base);
    }
    for (const auto& [r, id] : activation.registers) base[r].assign(value(id));
    frame_->pc = frame_->code->instructions.data() + activation.place;
    base = frame_->base + frame_->pc->a + 1;
  }
  if (exit.condition >= 0) {
    const bool holds = value(exit.condition).tensor().item_bool();
    frame_->pc += holds == exit.jumps_when ? exit.jump : 1;
  }
}

}  // namespace kiln::interp

// What capture needs of the machine: one instruction at a time, and frames put in the place of frames.
#include "interpreter/capture/hot.h"
#include "interpreter/interpreter.h"
#include "interpreter/vm.h"
#include "tensor/levels/level.h"

namespace kiln::interp {
namespace {

void clear_registers(Frame& frame) {
  for (std::uint32_t i = 0; i < frame.code->registers; ++i) frame.base[i].clear();
}

}  // namespace

// Not while capture looks on, nor inside of a transform, which sees ops one by one.
bool Vm::may_drive(const Frame& frame) const {
  return tracer_ == nullptr && &frame != driven_ && levels::top == nullptr;
}

void Vm::drive_frame(Frame* frame) {
  check_native_stack();
  struct Restore {
    const Frame*& driven;
    const Frame* before;
    ~Restore() { driven = before; }
  } restore{driven_, driven_};
  driven_ = frame;
  const Value keep{static_cast<Object*>(const_cast<Function*>(frame->function))};
  capture::drive(*this, frame, *frame->code->compiled);
}

void Vm::heat_up(const std::shared_ptr<const Code>& code) {
  // What stands at top level runs once.
  if (code == nullptr || code->name.empty() || code->compiled || code->never_compiled) return;
  capture::CompileOptions options;
  options.backend = interpreter_.options().backend;
  capture::compile_from_now_on(*code, std::move(options));
  hot_.push_back(code);
}

bool Vm::step(Frame* base) {
  std::uint64_t one = 1;
  return execute(base, &one);
}

bool Vm::step_over(Frame* base) {
  const Frame* const here = frame_;
  if (step(base)) return true;
  if (frame_ <= here) return false;
  try {
    execute(frame_);
    ++frame_->pc;
  } catch (...) {
    handle(base);
  }
  return false;
}

bool Vm::run_until(Frame* base, std::ptrdiff_t depth, const Code* code, std::size_t place) {
  for (;;) {
    if (frame_ - base == depth && frame_->code == code && frame_->place() == place) return false;
    if (frame_ - base >= depth) {
      if (step_over(base)) return true;
    } else if (step(base)) {
      return true;
    }
  }
}

void Vm::replace_frames(const capture::Exit& exit, const std::vector<Value>& values) {
  const auto value = [&](capture::RecipeId id) -> const Value& {
    return values[static_cast<std::size_t>(id)];
  };
  Frame* const first = frame_ - (exit.depth - 1);
  for (; frame_ > first; --frame_) {
    clear_registers(*frame_);
    frame_->base[-1].clear();
  }
  clear_registers(*first);
  if (exit.returns) {
    Value result = value(exit.result);
    first->base[-1].take(result);
    --frame_;
    return;
  }
  Value* base = first->base;
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

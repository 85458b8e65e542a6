// Stopping a call between two instructions, taking its frames out of the machine, and going on from them.
#include "interpreter/vm/errors.h"
#include "interpreter/vm/vm.h"

namespace kiln::interp {

namespace {

// A called function's registers begin behind the callee of the call its caller stands at.
Value* base_of_call(const Frame& caller) { return caller.base + caller.pc->a + 1; }

}  // namespace

// Innermost first, since the registers of a callee are among those of its caller.
Suspended Vm::take_frames(Frame* first) {
  Suspended frames(static_cast<std::size_t>(frame_ - first) + 1);
  for (std::size_t k = frames.size(); k > 0; --k) {
    Activation& taken = frames[k - 1];
    taken.place = frame_->place();
    taken.registers.resize(frame_->code->registers);
    for (std::size_t i = 0; i < taken.registers.size(); ++i) taken.registers[i].take(frame_->base[i]);
    taken.function.take(frame_->base[-1]);
    --frame_;
  }
  return frames;
}

Progress Vm::go_on(Frame* entry, std::uint64_t instructions) {
  Value* const result = entry->base - 1;
  Progress progress;
  if (execute(entry, &instructions)) {
    progress.value.take(*result);
  } else {
    progress.suspended = take_frames(entry);
  }
  return progress;
}

Progress Vm::call_for(Value callee, Arguments arguments, std::uint64_t instructions) {
  Value* const base = free_registers();
  if (begin_host_call(base, std::move(callee), arguments)) return go_on(frame_, instructions);
  Progress progress;
  progress.value.take(*base);
  return progress;
}

Progress Vm::resume(Suspended frames, std::uint64_t instructions) {
  check_native_stack();
  Frame* const entry = frame_ + 1;
  Value* base = free_registers() + 1;
  for (Activation& saved : frames) {
    const auto& function = saved.function.as<Function>();
    try {
      enter(frame_, function, base);
    } catch (...) {
      if (frame_ >= entry) take_frames(entry);
      throw;
    }
    base[-1].take(saved.function);
    for (std::size_t i = 0; i < saved.registers.size(); ++i) base[i].take(saved.registers[i]);
    frame_->pc += saved.place;
    base = base_of_call(*frame_);
  }
  return go_on(entry, instructions);
}

}  // namespace kiln::interp

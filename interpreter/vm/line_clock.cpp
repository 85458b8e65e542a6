#include "interpreter/vm/line_clock.h"

#include <chrono>

#include "interpreter/vm/impl.h"
#include "interpreter/vm/kept_place.h"

namespace kiln::interp {
namespace {

constexpr std::chrono::microseconds kTick{250};

}  // namespace

LineClock::LineClock(Interpreter& interpreter)
    : interpreter_(interpreter), ticks_([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          std::this_thread::sleep_for(kTick);
          is_due_.store(true, std::memory_order_relaxed);
        }
      }) {
  interpreter_.impl().vm.time_lines(&is_due_);
}

LineClock::~LineClock() { interpreter_.impl().vm.time_lines(nullptr); }

void Vm::note_line() {
  line_is_due_->store(false, std::memory_order_relaxed);
  const Code& code = *frame_->code;
  const auto is_in_code = [&code](const Instruction* at) {
    const Instruction* const begin = code.instructions.data();
    return !std::less<>()(at, begin) && std::less<>()(at, begin + code.instructions.size());
  };
  // After a jump the instruction that ran is elsewhere in the code; after a call it is in code that may be
  // gone, and the call stands for it.
  const Instruction* ran = timed_;
  if (!is_in_code(ran)) ran = is_in_code(frame_->pc - 1) ? frame_->pc - 1 : frame_->pc;
  kiln::timeline::mark(line_at(code, static_cast<std::size_t>(ran - code.instructions.data())));
}

}  // namespace kiln::interp

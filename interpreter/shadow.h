// Owns being a shadow: a process that does once more what another one does, to be compared with it
// (capture/beside.h). It computes, and touches nothing outside of itself. A check of a program does not
// either.
#pragma once

namespace kiln::interp::shadow {

bool active();
// Nothing of what runs is to be printed: this is a shadow or a check.
bool is_silent();
// This process is one from here on. What it writes for `print` is kept; see Interpreter::Tap.
void begin();
// Before something that others would notice, or that is another thing each time: files, input, the clock. A
// shadow ends, and is not compared; in a check of a program the result is unknown (Unknowable is thrown).
void leave();
// Before something that a shadow may do and a check may not: reading files or the environment, capturing.
void need_run();
// While it lives, what runs on this thread is a check (interpreter/check).
class Check {
 public:
  Check();
  ~Check();
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;

 private:
  bool before_;
};

inline constexpr int kLeft = 3;  // its exit status then

}  // namespace kiln::interp::shadow

// Owns what happens where the system stops a kernel: the thread of the host that runs it gives it up instead
// of ending the process.
#pragma once

namespace kiln::fake {

// Between its beginning and its end, faults of this thread of the host are given to `on_fault`: the driver's
// error, what it is, and the address. It runs as a handler of signals does; what it returns to is `leave`, on
// a stack of its own.
class FaultGuard {
 public:
  FaultGuard(void (*on_fault)(int error, const char* what, const void* address), void (*leave)());
  ~FaultGuard();
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;
};

}  // namespace kiln::fake

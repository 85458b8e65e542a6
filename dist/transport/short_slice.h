// Owns the wish of threads that communicate to run as soon as they wake, also where others keep all
// processors busy.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace kiln::dist {

/// While this lives, the calling thread and those that it starts meanwhile ask the kernel for slices of 0.1
/// ms. Linux 6.12 and later lets a thread that wakes go before one that computes in a longer slice; each
/// message would otherwise wait some milliseconds for its turn. Where the kernel knows of no slices nothing
/// happens.
class ShortSlice {
 public:
  ShortSlice() {
    if (syscall(SYS_sched_getattr, 0, &before_, sizeof before_, 0) != 0 || !has_slice()) return;
    Attributes wanted = before_;
    wanted.runtime = 100'000;
    is_set_ = syscall(SYS_sched_setattr, 0, &wanted, 0) == 0;
  }
  ~ShortSlice() {
    if (is_set_) syscall(SYS_sched_setattr, 0, &before_, 0);
  }
  ShortSlice(const ShortSlice&) = delete;
  ShortSlice& operator=(const ShortSlice&) = delete;

 private:
  // The first version of the kernel's `sched_attr`, which the C library does not declare.
  struct Attributes {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;  // nanoseconds; the first is the slice of an ordinary thread
  };

  // Kernels without slices say zero, and threads with real-time priorities have none.
  bool has_slice() const { return before_.policy == 0 && before_.runtime > 0; }

  Attributes before_{};
  bool is_set_ = false;
};

}  // namespace kiln::dist

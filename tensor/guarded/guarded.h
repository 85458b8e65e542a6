// Owns the guarded device, which is for tests: it computes by the CPU's kernels in memory that nothing else
// can touch. Code of the host that reads or writes elements past a HostView faults there, as on a device with
// memory of its own it would. The device is here only for programs that are run with KILN_GUARDED_DEVICE=1.
#pragma once

#include <atomic>

#include "tensor/device_memory.h"

namespace kiln::guarded {

// Is the device asked for? From the first time that it says so on, kernels open the memory.
bool is_here();
// Is this address one of the device's memory? For what tells faults.
bool owns(const void* address);

extern const DeviceMemory kMemory;

inline constinit std::atomic<bool> is_used{false};

// Within its scope the memory can be touched: a kernel runs, or a copy. Costs nothing where the device is not
// used.
class Open {
 public:
  explicit Open(bool wanted = true) : opens_(wanted && is_used.load(std::memory_order_relaxed)) {
    if (opens_) [[unlikely]]
      open();
  }
  ~Open() {
    if (opens_) [[unlikely]]
      close();
  }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;

 private:
  static void open();
  static void close();
  bool opens_;
};

}  // namespace kiln::guarded

// Owns who may touch the memory of the fake cards: work of streams, and not the host's own code.
#pragma once

#include "tensor/cuda/api_types.h"

namespace kiln::fake {

// For as long as one lives, this thread may touch the memory of cards.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

// How host code is kept out: by a protection key where the processor has them; by the protection of pages,
// which are open to all while any thread has access; or not at all.
enum class Guard { Key, Pages, None };
Guard guard();

// The region of their memory begins there, and has grown from an end to a later one.
void open_region(cuda::Address begin, cuda::Address from, cuda::Address end);

}  // namespace kiln::fake

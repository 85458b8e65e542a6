// Owns the memory of cards: blocks that the driver gives one by one, and that are kept for reuse once they
// are free. Nothing is taken ahead.
#pragma once

#include "tensor/device_memory.h"

namespace kiln::cuda {

extern const DeviceMemory kMemory;

// What a thread frees while it keeps back work (work.h) is for itself alone: the work that read it comes
// later than what other threads give. This makes it free for all.
void release_held(Device device);

// Gives all free blocks of a card back to the driver, when the work on them is done. Gives their bytes.
std::size_t trim(Device device);

}  // namespace kiln::cuda

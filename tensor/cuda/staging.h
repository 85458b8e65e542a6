// Owns how bytes come to a card and back: through pieces of the host's memory that the card can reach by
// itself.
#pragma once

#include "tensor/device_memory.h"

namespace kiln::cuda {

// As DeviceMemory says. Ctrl-C ends a copy between two pieces. Throws OpError.
void copy(DevicePlace to, DevicePlace from, std::size_t bytes);

}  // namespace kiln::cuda

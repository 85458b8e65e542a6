// Owns how the fake cublasLt and NCCL give work to the streams of the fake driver: by entry points that no
// real driver has.
#pragma once

#include <cstddef>

#include "tensor/cuda/api_types.h"

namespace kiln::fake {

// Work of another library: what is done, what the data is freed by, and the data. `run` gives null, or says
// what went wrong.
struct ForeignWork {
  const char* (*run)(void* data);
  void (*release)(void* data);
  void* data;
};

extern "C" {
// As a launch of a kernel. The work is released even where it is refused.
using GiveForeignWork = cuda::Result (*)(cuda::StreamHandle stream, ForeignWork work);
// Are all these bytes of one block of a card, be it one that is freed after this work?
using IsOnCard = bool (*)(cuda::Address address, std::size_t bytes);
// The number of the card that a stream is of; -1 for a handle that leads to nothing.
using CardOfStream = int (*)(cuda::StreamHandle stream);
// That of the context which is current in this thread; -1 without one.
using CurrentCard = int (*)();
}

}  // namespace kiln::fake

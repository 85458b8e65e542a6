// Owns the sentences that say why CUDA cannot be used here, and the way out of each.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tensor/cuda/devices.h"
#include "tensor/device.h"

namespace kiln::cuda {

struct Refusal {
  std::string sentence;  // as the end of a sentence of an error
  std::string way_out;   // its help
};

std::string_view name(Library library);  // "driver", "NVRTC", "cublasLt", "NCCL"

// Nothing for a library that can be used.
std::optional<Refusal> refusal_of(const Finding& found);
// The same for a device: it needs the driver, a card of its number, and an NVRTC that compiles for that card.
// It does without cublasLt and NCCL.
std::optional<Refusal> refusal_of(Device device);
// And for a card with an NVRTC that does not compile for it.
std::optional<Refusal> refusal_of(const Card& card, const NvrtcFinding& compiler);

// Throws OpError (Device) for a device of CUDA.
[[noreturn]] void refuse(Device device);

}  // namespace kiln::cuda

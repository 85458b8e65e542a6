// Owns the table of kernels that look at indices and masks, one for every instruction set.
#pragma once

#include <cstdint>

#include "tensor/cpu/isa.h"

namespace kiln::cpu {

struct PlaceKernels {
  // Makes `least` and `greatest` those of themselves and `count` numbers.
  void (*extent)(const std::int64_t* values, std::int64_t count, std::int64_t& least, std::int64_t& greatest);
  std::int64_t (*count_true)(const bool* flags, std::int64_t count);
  // Which of `count` flags are true, ascending; tells how many. `places` has room for kSlack numbers more
  // than those: what is written there means nothing.
  std::int64_t (*true_places)(const bool* flags, std::int64_t count, std::uint32_t* places);
};
inline constexpr std::int64_t kTruePlacesSlack = 16;

}  // namespace kiln::cpu

KILN_ISA_TABLE(PlaceKernels, place_kernels)

#include "tests/cuda/fake/card.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tensor/cuda/api_types.h"
#include "tests/cuda/fake/settings.h"

namespace kiln::fake {

using namespace kiln::cuda;

int capability() { return static_cast<int>(number_setting("KILN_FAKE_CAPABILITY", 90)); }

// Attributes are those of consumer cards where they differ between cards: kernels must ask.
bool card_attribute(int attribute, int& value) {
  const std::array<std::pair<int, int>, 20> all{{
      {kMaxThreadsPerBlock, 1024},
      {kMaxBlockX, 1024},
      {kMaxBlockY, 1024},
      {kMaxBlockZ, 64},
      {kMaxGridX, 2147483647},
      {kMaxGridY, 65535},
      {kMaxGridZ, 65535},
      {kSharedPerBlock, 48 * 1024},
      {kWarpSize, 32},
      {kRegistersPerBlock, 65536},
      {kMultiprocessors, 4},
      {kCanMapHostMemory, 1},
      {kL2Bytes, 4 << 20},
      {kThreadsPerMultiprocessor, 1536},
      {kUnifiedAddressing, 1},
      {kCapabilityMajor, capability() / 10},
      {kCapabilityMinor, capability() % 10},
      {kSharedPerMultiprocessor, 100 * 1024},
      {kSharedPerBlockOptIn, static_cast<int>(number_setting("KILN_FAKE_SHARED", 99 * 1024))},
      {kMemoryPoolsSupported, 1},
  }};
  const auto* const found =
      std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.first == attribute; });
  if (found == all.end()) return false;
  value = found->second;
  return true;
}

}  // namespace kiln::fake

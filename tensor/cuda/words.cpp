#include "tensor/cuda/words.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

constexpr std::int64_t kWidest = 16;

// Do so many neighbours always move together?
bool moves_by(std::int64_t elements, const WalkAxes& walk, std::size_t moved,
              std::span<const std::int64_t> steps) {
  const auto is_whole = [elements](std::int64_t each) { return each % elements == 0; };
  if (!is_whole(walk.sizes[0]) || !std::all_of(steps.begin(), steps.end(), is_whole)) return false;
  for (std::size_t k = 0; k < walk.strides.size(); ++k) {
    const IntDims& strides = walk.strides[k];
    if (strides[0] != (k < moved ? 1 : 0)) return false;
    if (k < moved && !std::all_of(strides.begin() + 1, strides.end(), is_whole)) return false;
  }
  return true;
}

}  // namespace

std::int64_t count_by_words(WalkAxes& walk, std::size_t moved, std::int64_t item,
                            std::span<std::int64_t> steps, std::uintptr_t addresses) {
  std::int64_t bytes = kWidest;
  while (bytes > item &&
         (addresses % static_cast<std::uintptr_t>(bytes) != 0 || !moves_by(bytes / item, walk, moved, steps)))
    bytes /= 2;
  const std::int64_t elements = bytes / item;
  if (elements == 1) return bytes;
  walk.sizes[0] /= elements;
  for (std::size_t k = 0; k < moved; ++k)
    for (std::size_t d = 1; d < walk.sizes.size(); ++d) walk.strides[k][d] /= elements;
  for (std::int64_t& each : steps) each /= elements;
  return bytes;
}

const char* word_name(std::int64_t bytes) {
  switch (bytes) {
    case 1:
      return "unsigned char";
    case 2:
      return "unsigned short";
    case 4:
      return "unsigned";
    case 8:
      return "unsigned long long";
    default:
      return "uint4";
  }
}

}  // namespace kiln::cuda

#include "interpreter/capture/flow/batched.h"

#include <algorithm>

namespace kiln::interp::capture {

LevelsAround::~LevelsAround() {
  while (!entered_.empty()) entered_.pop_back();
}

void LevelsAround::enter(const VmapAround& vmap, Dim size) {
  entered_.push_back(std::make_unique<levels::BatchLevel>(size, vmap.randomness, vmap.id));
}

std::vector<LevelId> levels_of(const Tensor& x) {
  std::vector<LevelId> found;
  for (const Wrapper* at = levels::wrapper_of(x); at != nullptr; at = levels::wrapper_of(at->value))
    if (at->kind == LevelKind::Batch) found.push_back(at->level);
  std::reverse(found.begin(), found.end());
  return found;
}

Tensor batched(Tensor plain, std::span<const LevelId> vmaps) {
  for (const LevelId each : vmaps) plain = levels::wrap(each, LevelKind::Batch, std::move(plain));
  return plain;
}

bool is_readable_batch(const Tensor& x) {
  for (const Wrapper* at = levels::wrapper_of(x); at != nullptr; at = levels::wrapper_of(at->value)) {
    if (at->kind != LevelKind::Batch || !levels::is_live(at->level)) return false;
  }
  return true;
}

}  // namespace kiln::interp::capture

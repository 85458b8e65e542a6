#include "jit/cuda/vectors.h"

#include <algorithm>
#include <cstdint>

namespace kiln::jit {
namespace {

constexpr std::size_t kVectorBytes = 16;
// In additions, of one element and of all of a vector.
constexpr std::int64_t kMostVectorWork = 64, kMostWorkOfVector = 256;

// Steps of a store or of a load between neighbours along the last axis, and between whole vectors.
bool steps_fit(const IntDims& strides, int width) {
  return strides[0] == 1 && std::ranges::all_of(strides.begin() + 1, strides.end(),
                                                [&](std::int64_t each) { return each % width == 0; });
}

}  // namespace

bool is_loaded_in_vectors(const Load& load) { return load.input >= 0 && !load.invariant && !load.is_number; }

int vector_width(const LoopNest& nest) {
  const std::int64_t work = cost_of(nest);
  const bool has_other_loads = std::ranges::any_of(nest.loads, [](const Load& each) {
    return each.gather != nullptr || each.column >= 0 || each.buffer >= 0;
  });
  if (nest.row_rank > 0 || has_other_loads || work > kMostVectorWork) return 0;
  std::size_t widest = 1;
  for (const Load& each : nest.loads)
    if (is_loaded_in_vectors(each)) widest = std::max(widest, size_of(each.dtype));
  for (const Store& each : nest.stores) widest = std::max(widest, size_of(each.dtype));
  auto width = static_cast<int>(kVectorBytes / widest);
  while (width * work > kMostWorkOfVector) width /= 2;
  return width;
}

VectorPlan plan_vectors(const LoopNest& nest, const cuda::WalkAxes& axes) {
  VectorPlan plan;
  const int width = vector_width(nest);
  if (width == 0 || axes.sizes[0] < width) return plan;
  if (axes.sizes.size() > 1 && axes.sizes[0] % width != 0) return plan;
  bool fits = true;
  const auto add = [&](std::size_t operand, DType dtype) {
    fits = fits && steps_fit(axes.strides[operand], width);
    plan.operands.push_back({operand, static_cast<std::size_t>(width) * size_of(dtype)});
  };
  for (std::size_t k = 0; k < nest.loads.size(); ++k)
    if (is_loaded_in_vectors(nest.loads[k]) && axes.strides[k][0] != 0) add(k, nest.loads[k].dtype);
  for (std::size_t k = 0; k < nest.stores.size(); ++k) add(nest.loads.size() + k, nest.stores[k].dtype);
  if (fits) plan.width = width;
  return plan;
}

bool takes_vectors(const VectorPlan& plan, const ArgumentWords& words) {
  return plan.width > 0 && std::ranges::all_of(plan.operands, [&](const VectorPlan::Operand& each) {
           return reinterpret_cast<std::uintptr_t>(words.data(each.number)) % each.bytes == 0;
         });
}

}  // namespace kiln::jit

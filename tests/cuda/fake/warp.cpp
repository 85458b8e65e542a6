#include "tests/cuda/fake/warp.h"

#include <algorithm>
#include <bit>

namespace kiln::fake {
namespace {

constexpr unsigned long long kUndefined = 0xfff7dead7fc7dead;  // a nan, read as f64 or f32

bool contains(std::uint32_t mask, unsigned lane) { return ((mask >> lane) & 1U) != 0; }

template <class F>
unsigned long long fold(const Warp& warp, std::uint32_t together, const F& f) {
  unsigned long long value = warp.lanes[static_cast<unsigned>(std::countr_zero(together))]->value;
  each_lane(together & (together - 1), [&](unsigned lane) { value = f(value, warp.lanes[lane]->value); });
  return value;
}

unsigned long long fold(const Warp& warp, std::uint32_t together, KilnFakeTogether kind) {
  const auto is_less = [](unsigned long long a, unsigned long long b) {
    return static_cast<long long>(a) < static_cast<long long>(b);
  };
  using Value = unsigned long long;
  switch (kind) {
    case kFakeSum:
      return fold(warp, together, [](Value a, Value b) { return a + b; });
    case kFakeLeast:
      return fold(warp, together, [&](Value a, Value b) { return std::min(a, b, is_less); });
    case kFakeMost:
      return fold(warp, together, [&](Value a, Value b) { return std::max(a, b, is_less); });
    case kFakeAnd:
      return fold(warp, together, [](Value a, Value b) { return a & b; });
    case kFakeOr:
      return fold(warp, together, [](Value a, Value b) { return a | b; });
    case kFakeXor:
      return fold(warp, together, [](Value a, Value b) { return a ^ b; });
    default:
      return 0;
  }
}

std::uint32_t equal_to(const Warp& warp, std::uint32_t together, unsigned long long value) {
  std::uint32_t equal = 0;
  each_lane(together, [&](unsigned lane) {
    if (warp.lanes[lane]->value == value) equal |= 1U << lane;
  });
  return equal;
}

void shuffle(const Warp& warp, std::uint32_t together) {
  each_lane(together, [&](unsigned lane) {
    KilnFakeLane& own = *warp.lanes[lane];
    const unsigned from = own.argument < kLanes ? own.argument : lane;
    own.result = contains(together, from) ? warp.lanes[from]->value : kUndefined;
  });
}

}  // namespace

std::uint32_t complete_with(const Warp& warp, unsigned own) {
  const std::uint32_t together = warp.lanes[own]->mask & warp.alive;
  return (together & ~warp.waiting) == 0 ? together : 0;
}

std::string problem_of(const Warp& warp, std::uint32_t together) {
  const KilnFakeLane& first = *warp.lanes[static_cast<unsigned>(std::countr_zero(together))];
  std::string problem;
  each_lane(together, [&](unsigned lane) {
    const KilnFakeLane& other = *warp.lanes[lane];
    if (other.mask == first.mask && other.kind == first.kind) return;
    problem = "lanes of a warp wait in line " + std::to_string(first.line) + " and in line " +
              std::to_string(other.line) + " with different masks or for different things";
  });
  return problem;
}

void exchange(Warp& warp, std::uint32_t together) {
  const KilnFakeTogether kind = warp.lanes[static_cast<unsigned>(std::countr_zero(together))]->kind;
  if (kind == kFakeShuffle) return shuffle(warp, together);
  const unsigned long long folded = fold(warp, together, kind);
  each_lane(together, [&](unsigned lane) {
    KilnFakeLane& own = *warp.lanes[lane];
    own.result = folded;
    if (kind == kFakeBallot) own.result = equal_to(warp, together, 1);
    if (kind == kFakeMatchAny) own.result = equal_to(warp, together, own.value);
    if (kind == kFakeMatchAll) own.result = equal_to(warp, together, own.value) == together ? together : 0U;
  });
}

}  // namespace kiln::fake

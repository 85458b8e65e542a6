#include "tests/cuda/fake/grid.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>

#include "tensor/cuda/api_types.h"
#include "tests/cuda/fake/block.h"
#include "tests/cuda/fake/faults.h"
#include "tests/cuda/fake/settings.h"

namespace kiln::fake {
namespace {

constexpr int kUndefinedByte = 0xA5;    // what shared memory holds at first: no block may count on it
constexpr int kBeyond = 0x5A;           // behind the shared memory that a launch gives
constexpr std::size_t kWatched = 1024;  // bytes behind it that are looked at

BlockRunner& runner() {
  static auto* const made = new BlockRunner;
  return *made;
}

// The blocks of a grid by number, each once: from the first one on, or with a step that shares no factor with
// their count.
class BlockOrder {
 public:
  BlockOrder(KilnFakeIndex grid, std::uint64_t seed)
      : grid_(grid), count_(std::uint64_t{grid.x} * grid.y * grid.z) {
    if (seed == 0) return;
    Random random(seed + 1);
    at_ = random.below(count_);
    do step_ = 1 + random.below(count_);
    while (std::gcd(step_, count_) != 1);
  }
  std::uint64_t count() const { return count_; }
  KilnFakeIndex next() {
    const std::uint64_t number = at_;
    at_ = (at_ + step_) % count_;
    return {static_cast<unsigned>(number % grid_.x), static_cast<unsigned>(number / grid_.x % grid_.y),
            static_cast<unsigned>(number / grid_.x / grid_.y)};
  }

 private:
  KilnFakeIndex grid_;
  std::uint64_t count_, at_ = 0, step_ = 1;
};

std::size_t watched_bytes(const KilnFakeLibrary& library, std::size_t dynamic_bytes) {
  const auto room = static_cast<std::size_t>(library.dynamic_end - library.dynamic);
  return std::min(kWatched, room - dynamic_bytes);
}

void prepare_shared(const KilnFakeLibrary& library, std::size_t dynamic_bytes) {
  if (library.shared != nullptr)
    std::memset(library.shared, kUndefinedByte,
                static_cast<std::size_t>(library.shared_end - library.shared));
  std::memset(library.dynamic, kUndefinedByte, dynamic_bytes);
}

bool wrote_beyond_shared(const KilnFakeLibrary& library, std::size_t dynamic_bytes) {
  const char* const end = library.dynamic + dynamic_bytes;
  for (std::size_t i = 0; i < watched_bytes(library, dynamic_bytes); ++i) {
    if (end[i] != kBeyond) return true;
  }
  return false;
}

// Each launch has an order of its own.
std::uint64_t next_seed() {
  static const auto seed = static_cast<std::uint64_t>(number_setting("KILN_FAKE_SEED", 0));
  static std::uint64_t launches = 0;
  return seed == 0 ? 0 : seed * 1000003 + ++launches;
}

}  // namespace

Failure run_grid(const Call& call) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const std::uint64_t seed = next_seed();
  const KilnFakeLibrary& library = *call.library;
  const std::size_t dynamic_bytes = call.dynamic_bytes;
  runner().begin(call, seed);
  std::memset(library.dynamic + dynamic_bytes, kBeyond, watched_bytes(library, dynamic_bytes));
  const FaultGuard guard(
      [](int error, const char* what, const void* address) {
        char text[200];
        std::snprintf(text, sizeof text, address == nullptr ? "%s" : "%s, at %p", what, address);
        runner().note(error, text);
      },
      [] { runner().leave(); });
  BlockOrder order(call.grid, seed);
  for (std::uint64_t i = 0; i < order.count(); ++i) {
    prepare_shared(library, dynamic_bytes);
    if (!runner().run(order.next())) return runner().failure();
    if (wrote_beyond_shared(library, dynamic_bytes)) {
      runner().note(cuda::kIllegalAddress, "the block wrote beyond the shared memory of its launch");
      return runner().failure();
    }
  }
  return {};
}

}  // namespace kiln::fake

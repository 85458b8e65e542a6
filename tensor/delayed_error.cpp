#include "tensor/delayed_error.h"

#include <atomic>
#include <mutex>
#include <vector>

namespace kiln {
namespace {

std::atomic<PlaceFn> place_source{nullptr};

struct Settlings {
  std::mutex mutex;
  std::vector<Settling> all;
  std::atomic<bool> any{false};
};
Settlings& settlings() {
  static Settlings known;
  return known;
}

}  // namespace

void set_place_source(PlaceFn source) { place_source.store(source); }
ProgramPlace current_place() {
  const PlaceFn source = place_source.load();
  return source == nullptr ? nullptr : source();
}

void add_settling(Settling settling) {
  const std::lock_guard lock(settlings().mutex);
  settlings().all.push_back(settling);
  settlings().any = true;
}

void settle_devices() {
  if (!settlings().any.load(std::memory_order_relaxed)) return;
  std::vector<Settling> all;
  {
    const std::lock_guard lock(settlings().mutex);
    all = settlings().all;
  }
  for (const Settling& each : all) {
    if (each.is_wanted()) each.settle();
  }
}

}  // namespace kiln

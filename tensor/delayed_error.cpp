#include "tensor/delayed_error.h"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace kiln {
namespace {

struct PlaceSource {
  std::mutex mutex;
  std::function<KeptPlace()> ask;
};
PlaceSource& place_source() {
  static PlaceSource source;
  return source;
}

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

void set_place_source(std::function<KeptPlace()> source) {
  const std::lock_guard lock(place_source().mutex);
  place_source().ask = std::move(source);
}
KeptPlace current_place() {
  const std::lock_guard lock(place_source().mutex);
  return place_source().ask ? place_source().ask() : KeptPlace{};
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

#include "tests/cuda/fake/sync_clock.h"

#include <algorithm>

#include "tests/cuda/fake/warp.h"

namespace kiln::fake {
namespace {

// Threads of which the first has the number `first` get the latest moment of theirs.
void share(std::vector<Stamp>& moments, unsigned first, std::uint32_t lanes) {
  Stamp latest = 0;
  each_lane(lanes, [&](unsigned lane) { latest = std::max(latest, moments[first + lane]); });
  each_lane(lanes, [&](unsigned lane) { moments[first + lane] = latest; });
}
void share(std::vector<Stamp>& moments) {
  std::fill(moments.begin(), moments.end(), *std::max_element(moments.begin(), moments.end()));
}

}  // namespace

void SyncClock::begin_launch(unsigned threads) {
  launch_ = ++now_;
  warps_.resize((threads + kLanes - 1) / kLanes);
  has_fences_ = false;
  fences_.assign(threads, 0);
  acquired_.assign(threads, 0);
  released_.clear();
}

void SyncClock::begin_block() {
  block_ = barrier_ = ++now_;
  for (WarpOrder& warp : warps_) {
    warp.all = 0;
    warp.has_groups = false;
  }
  if (!has_fences_) return;
  std::fill(fences_.begin(), fences_.end(), 0);
  std::fill(acquired_.begin(), acquired_.end(), 0);
}

void SyncClock::meet_block() {
  barrier_ = ++now_;
  if (!has_fences_) return;
  share(fences_);
  share(acquired_);
}

void SyncClock::meet_warp(unsigned warp, std::uint32_t lanes, std::uint32_t alive) {
  ++now_;
  if (lanes == alive) {
    warps_[warp].all = now_;
    warps_[warp].has_groups = false;
  } else {
    meet_group(warps_[warp], lanes);
  }
  if (!has_fences_) return;
  share(fences_, warp * kLanes, lanes);
  share(acquired_, warp * kLanes, lanes);
}

// Each of them then knows what any of them knew.
void SyncClock::meet_group(WarpOrder& warp, std::uint32_t lanes) const {
  if (!warp.has_groups) warp.known = {};
  warp.has_groups = true;
  Stamps all{};
  each_lane(lanes, [&](unsigned lane) {
    for (unsigned other = 0; other < kLanes; ++other)
      all[other] = std::max(all[other], warp.known[lane][other]);
  });
  each_lane(lanes, [&](unsigned lane) { all[lane] = now_; });
  each_lane(lanes, [&](unsigned lane) { warp.known[lane] = all; });
}

void SyncClock::fence(unsigned thread) {
  has_fences_ = true;
  fences_[thread] = ++now_;
}

// Without a fence nothing is before an atomic operation but others.
void SyncClock::order_atomic(unsigned thread, std::uint64_t word) {
  if (!has_fences_) return;
  Stamp& released = released_[word];
  acquired_[thread] = std::max(acquired_[thread], released);
  released = std::max({released, fences_[thread], acquired_[thread]});
}

bool SyncClock::is_ordered(Stamp stamp, unsigned by, unsigned thread) const {
  if (stamp < acquired_[thread]) return true;
  if (!is_of_block(stamp)) return false;
  if (by == thread || stamp < barrier_) return true;
  if (by / kLanes != thread / kLanes) return false;
  const WarpOrder& warp = warps_[thread / kLanes];
  return stamp < warp.all || (warp.has_groups && stamp < warp.known[thread % kLanes][by % kLanes]);
}

}  // namespace kiln::fake

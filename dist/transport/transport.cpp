#include "dist/transport/transport.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kiln::dist {

PeerLost::PeerLost(std::vector<int> lost, const std::string& why)
    : std::runtime_error(why), ranks(std::move(lost)) {}

Stopped::Stopped() : std::runtime_error("communication was stopped") {}

bool Transport::wait_any(std::span<Request* const> requests, std::chrono::milliseconds limit) {
  return wait_for(requests, limit, true);
}

bool Transport::wait_for(std::span<Request* const> requests, std::chrono::milliseconds limit,
                         bool heeds_wakes) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + limit;
  for (int round = 0;; ++round) {
    const std::uint32_t seen = events();
    if (std::ranges::any_of(requests, [](Request* request) { return request != nullptr && request->test(); }))
      return true;
    check();
    const std::uint32_t wakes = wakes_.load();
    if (heeds_wakes && std::exchange(wakes_seen_, wakes) != wakes) return false;
    const auto left = std::chrono::ceil<std::chrono::microseconds>(end - Clock::now());
    if (left.count() <= 0) return false;
    sleep(seen, left, round);
  }
}

void Transport::wake() {
  ++wakes_;
  notify();
}

void Transport::interrupt() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  notify();
}

void Transport::lose(std::vector<int> ranks, const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    lost_ = std::make_unique<PeerLost>(std::move(ranks), why);
    ended_ = true;
  }
  notify();
}

void Transport::check() const {
  if (!ended_.load()) return;
  const std::lock_guard lock(mutex_);
  if (lost_) throw PeerLost(*lost_);
  throw Stopped();
}

std::uint32_t Transport::events() const { return events_.load(); }

void Transport::notify() {
  {
    const std::lock_guard lock(mutex_);
    ++events_;
  }
  happened_.notify_all();
}

void Transport::sleep(std::uint32_t seen, std::chrono::microseconds limit, int) {
  std::unique_lock lock(mutex_);
  happened_.wait_for(lock, limit, [&] { return events_.load() != seen; });
}

bool Transport::Request::wait(std::chrono::milliseconds limit) {
  const std::array<Request*, 1> self{this};
  return transport_.wait_for(self, limit, false);
}

void Transport::Request::wait() {
  while (!wait(std::chrono::minutes(1))) continue;
}

}  // namespace kiln::dist

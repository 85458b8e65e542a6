#include "dist/launch/unheard_ranks.h"

#include <algorithm>
#include <set>
#include <utility>

namespace kiln::dist {

void UnheardRanks::note(int rank, std::vector<int> others, Clock::time_point now) {
  if (others.empty()) {
    reports_.erase(rank);
  } else {
    reports_[rank] = std::move(others);
  }
  if (reports_.empty()) {
    first_.reset();
  } else if (!first_) {
    first_ = now;
  }
}

void UnheardRanks::clear() {
  reports_.clear();
  first_.reset();
}

std::vector<UnheardRanks::Leaver> UnheardRanks::leavers(Clock::time_point now,
                                                        std::chrono::milliseconds settle,
                                                        const std::function<bool(int rank)>& silent) const {
  if (!first_ || now - *first_ < settle) return {};
  std::map<int, std::set<int>> apart;  // for each rank those with which it does not exchange signs of life
  for (const auto& [rank, others] : reports_) {
    for (const int other : others) {
      if (silent(rank) || silent(other)) continue;
      apart[rank].insert(other);
      apart[other].insert(rank);
    }
  }
  std::vector<Leaver> leavers;
  while (!apart.empty()) {
    const auto most = std::ranges::max_element(apart, [](const auto& a, const auto& b) {
      return std::pair(a.second.size(), a.first) < std::pair(b.second.size(), b.first);
    });
    leavers.push_back({most->first, *most->second.begin()});
    apart.erase(most);
    for (auto& [rank, others] : apart) others.erase(leavers.back().rank);
    std::erase_if(apart, [](const auto& each) { return each.second.empty(); });
  }
  return leavers;
}

}  // namespace kiln::dist

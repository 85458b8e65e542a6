#include "jit/autodiff/max_flow.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace kiln::jit {

void FlowNetwork::connect(int from, int to, std::int64_t capacity) {
  auto& forth = edges_of_[static_cast<std::size_t>(from)];
  auto& back = edges_of_[static_cast<std::size_t>(to)];
  forth.push_back({to, static_cast<int>(back.size()), capacity});
  back.push_back({from, static_cast<int>(forth.size()) - 1, 0});
}

bool FlowNetwork::find_distances(int source, int sink) {
  distance_.assign(edges_of_.size(), -1);
  distance_[static_cast<std::size_t>(source)] = 0;
  std::queue<int> open;
  open.push(source);
  while (!open.empty()) {
    const auto at = static_cast<std::size_t>(open.front());
    open.pop();
    for (const Edge& edge : edges_of_[at]) {
      int& distance = distance_[static_cast<std::size_t>(edge.to)];
      if (edge.room == 0 || distance >= 0) continue;
      distance = distance_[at] + 1;
      open.push(edge.to);
    }
  }
  return distance_[static_cast<std::size_t>(sink)] >= 0;
}

// What one path takes, 0 when there is none. Paths are followed without recursion: they may be as long as the
// program.
std::int64_t FlowNetwork::push(int source, int sink) {
  std::vector<std::pair<int, std::size_t>> path;  // nodes with the edge taken
  int at = source;
  while (at != sink) {
    const auto here = static_cast<std::size_t>(at);
    std::size_t& next = next_[here];
    const auto leads_on = [&](const Edge& edge) {
      return edge.room > 0 && distance_[static_cast<std::size_t>(edge.to)] == distance_[here] + 1;
    };
    while (next < edges_of_[here].size() && !leads_on(edges_of_[here][next])) ++next;
    if (next < edges_of_[here].size()) {
      path.emplace_back(at, next);
      at = edges_of_[here][next].to;
    } else {
      if (path.empty()) return 0;
      at = path.back().first;
      path.pop_back();
      ++next_[static_cast<std::size_t>(at)];
    }
  }
  std::int64_t flow = kUnlimited;
  const auto edge_at = [this](const std::pair<int, std::size_t>& step) -> Edge& {
    return edges_of_[static_cast<std::size_t>(step.first)][step.second];
  };
  for (const auto& step : path) flow = std::min(flow, edge_at(step).room);
  for (const auto& step : path) {
    Edge& edge = edge_at(step);
    edge.room -= flow;
    edges_of_[static_cast<std::size_t>(edge.to)][static_cast<std::size_t>(edge.back)].room += flow;
  }
  return flow;
}

std::int64_t FlowNetwork::maximum(int source, int sink) {
  std::int64_t total = 0;
  while (total < kUnlimited && find_distances(source, sink)) {
    next_.assign(edges_of_.size(), 0);
    while (const std::int64_t flow = total < kUnlimited ? push(source, sink) : 0) total += flow;
  }
  return total;
}

std::vector<bool> FlowNetwork::beyond_cut(int sink) const {
  std::vector<bool> beyond(edges_of_.size(), false);
  std::vector<int> open{sink};
  beyond[static_cast<std::size_t>(sink)] = true;
  while (!open.empty()) {
    const auto at = static_cast<std::size_t>(open.back());
    open.pop_back();
    for (const Edge& edge : edges_of_[at]) {
      const auto from = static_cast<std::size_t>(edge.to);
      const Edge& forth = edges_of_[from][static_cast<std::size_t>(edge.back)];
      if (forth.room == 0 || beyond[from]) continue;
      beyond[from] = true;
      open.push_back(edge.to);
    }
  }
  return beyond;
}

}  // namespace kiln::jit

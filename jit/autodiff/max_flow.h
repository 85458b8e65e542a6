// Owns the maximum flow through a network, and the cut of least capacity that it shows.
#pragma once

#include <cstdint>
#include <vector>

namespace kiln::jit {

class FlowNetwork {
 public:
  static constexpr std::int64_t kUnlimited = INT64_MAX / 4;

  explicit FlowNetwork(int nodes) : edges_of_(static_cast<std::size_t>(nodes)) {}
  void connect(int from, int to, std::int64_t capacity);

  // The most that can flow, kUnlimited or more when a path has no limit. By Dinic's algorithm: shortest paths
  // first, all of one length together.
  std::int64_t maximum(int source, int sink);
  // After `maximum`: can more flow from the node to the sink? The edges into such nodes from others are a cut
  // of least capacity, the one nearest to the sink.
  std::vector<bool> beyond_cut(int sink) const;

 private:
  struct Edge {
    int to;
    int back;  // position of the reverse edge among those of `to`
    std::int64_t room;
  };
  bool find_distances(int source, int sink);
  std::int64_t push(int source, int sink);

  std::vector<std::vector<Edge>> edges_of_;
  std::vector<int> distance_;
  std::vector<std::size_t> next_;  // edge to try, per node
};

}  // namespace kiln::jit

// The flow against all cuts of small networks.
#include "jit/autodiff/max_flow.h"

#include <catch2/catch.hpp>
#include <random>

namespace kiln::max_flow_test {

using kiln::jit::FlowNetwork;

namespace {

struct Pipe {
  int from, to;
  std::int64_t capacity;
};

struct Cuts {
  std::int64_t least = FlowNetwork::kUnlimited;
  unsigned nearest = 0;  // to the sink: the nodes that all least cuts have beyond them
};

// By trying all. `beyond` is a set of nodes with the sink, without the source.
Cuts all_cuts(int nodes, const std::vector<Pipe>& pipes) {
  Cuts found;
  for (unsigned beyond = 0; beyond < 1U << nodes; ++beyond) {
    const auto is_beyond = [beyond](int node) { return (beyond >> node & 1U) != 0; };
    if (is_beyond(0) || !is_beyond(nodes - 1)) continue;
    std::int64_t capacity = 0;
    for (const Pipe& each : pipes)
      capacity += !is_beyond(each.from) && is_beyond(each.to) ? each.capacity : 0;
    if (capacity < found.least) found = {capacity, beyond};
    if (capacity == found.least) found.nearest &= beyond;
  }
  return found;
}

}  // namespace

TEST_CASE("the flow is the least cut, and the cut shown is the nearest to the sink", "[jit][flow]") {
  std::mt19937 engine(1);
  const auto draw = [&engine](int count) {
    return static_cast<int>(engine() % static_cast<unsigned>(count));
  };
  for (int round = 0; round < 2000; ++round) {
    const int nodes = 2 + draw(7);
    FlowNetwork network(nodes);
    std::vector<Pipe> pipes;
    for (int k = draw(20); k > 0; --k) {
      const Pipe pipe{draw(nodes), draw(nodes), draw(5)};
      pipes.push_back(pipe);
      network.connect(pipe.from, pipe.to, pipe.capacity);
    }
    const Cuts expected = all_cuts(nodes, pipes);
    REQUIRE(network.maximum(0, nodes - 1) == expected.least);
    unsigned beyond = 0;
    const std::vector<bool> shown = network.beyond_cut(nodes - 1);
    for (int k = 0; k < nodes; ++k) beyond |= shown[static_cast<std::size_t>(k)] ? 1U << k : 0U;
    REQUIRE(beyond == expected.nearest);
  }
}

TEST_CASE("a path without limit is told apart", "[jit][flow]") {
  FlowNetwork network(3);
  network.connect(0, 1, FlowNetwork::kUnlimited);
  network.connect(1, 2, FlowNetwork::kUnlimited);
  CHECK(network.maximum(0, 2) >= FlowNetwork::kUnlimited);
}

TEST_CASE("long chains need no stack", "[jit][flow]") {
  constexpr int kNodes = 200000;
  FlowNetwork network(kNodes);
  for (int k = 0; k + 1 < kNodes; ++k) network.connect(k, k + 1, 7 + k % 3);
  CHECK(network.maximum(0, kNodes - 1) == 7);
}

}  // namespace kiln::max_flow_test

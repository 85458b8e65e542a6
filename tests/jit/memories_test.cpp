// Which inputs are seen as one: against marking every element.
#include <catch2/catch.hpp>

#include <random>
#include <set>

#include "jit/graph/rewrite.h"
#include "jit/passes/memories.h"

namespace kiln::memories_test {

using namespace kiln::jit;

namespace {

struct Window {
  std::int64_t offset, size, stride;
};

// Inputs of one storage; the first is written.
Graph graph_of(const std::vector<Window>& windows) {
  Builder builder;
  for (const Window& each : windows) {
    Type type{DType::F32, Device{}, {each.size}, false, Dims{each.stride}};
    Input input;
    input.storage = 0;
    input.offset = each.offset;
    builder.input("x", type, input);
  }
  Node node;
  node.op = &OpTable::get().at("zero");
  node.form = Form::Write;
  node.operands = {Operand::of(0)};
  builder.append(node);
  return std::move(builder.graph);
}

// The inputs that share elements with the first, directly or through others.
std::vector<int> reached(const std::vector<Window>& windows) {
  std::set<std::int64_t> places;
  std::set<int> members;
  const auto place = [&](int i, std::int64_t k) {
    const Window& at = windows[static_cast<std::size_t>(i)];
    return at.offset + k * at.stride;
  };
  for (bool grown = true; grown;) {
    grown = false;
    for (int i = 0; i < static_cast<int>(windows.size()); ++i) {
      bool meets = i == 0;
      for (std::int64_t k = 0; k < windows[static_cast<std::size_t>(i)].size; ++k)
        meets = meets || places.contains(place(i, k));
      if (!meets || !members.insert(i).second) continue;
      grown = true;
      for (std::int64_t k = 0; k < windows[static_cast<std::size_t>(i)].size; ++k) places.insert(place(i, k));
    }
  }
  return {members.begin(), members.end()};
}

std::vector<int> based(const Graph& graph) {
  const std::vector<BaseGroup> groups = base_groups(graph, memories_of(graph));
  return groups.empty() ? std::vector<int>{0} : groups.at(0).inputs;
}

}  // namespace

TEST_CASE("inputs are seen as one when they share elements", "[jit][passes]") {
  std::mt19937 engine(7);
  const auto draw = [&engine](int count) {
    return static_cast<std::int64_t>(engine() % static_cast<unsigned>(count));
  };
  int shared = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<Window> windows;
    for (std::int64_t count = 1 + draw(40); count > 0; --count)
      windows.push_back({draw(60), draw(6), 1 + draw(9)});
    const std::vector<int> expected = reached(windows);
    REQUIRE(based(graph_of(windows)) == expected);
    shared += expected.size() > 1 ? 1 : 0;
  }
  CHECK(shared > 100);
}

// Their extents all overlap: comparing every pair would take four million comparisons.
TEST_CASE("thousands of columns of one matrix are no base, but for the one that is there twice",
          "[jit][passes]") {
  std::vector<Window> windows;
  constexpr std::int64_t kColumns = 3000;
  for (std::int64_t column = 0; column < kColumns; ++column) windows.push_back({column, 8, kColumns});
  CHECK(base_groups(graph_of(windows), memories_of(graph_of(windows))).empty());
  windows.push_back({0, 1, 1});
  CHECK(based(graph_of(windows)) == std::vector<int>{0, static_cast<int>(kColumns)});
}

}  // namespace kiln::memories_test

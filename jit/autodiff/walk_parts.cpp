#include "jit/autodiff/walk_parts.h"

#include <algorithm>
#include <queue>

#include "tensor/integers.h"

namespace kiln::jit {
namespace {

// How many edges of nodes on the way back from `roots` lead to each node; -1 for those that are not on it.
std::vector<int> count_leading(const Tape& tape, std::span<const Edge> roots) {
  std::vector<int> leading(tape.nodes.size(), -1), path;
  const auto reach = [&](const Edge& edge) {
    if (!edge || leading[as_index(edge.node)] >= 0) return;
    leading[as_index(edge.node)] = 0;
    path.push_back(edge.node);
  };
  std::for_each(roots.begin(), roots.end(), reach);
  while (!path.empty()) {
    const int n = path.back();
    path.pop_back();
    for (const Edge& each : tape.nodes[as_index(n)].edges) {
      reach(each);
      if (each) ++leading[as_index(each.node)];
    }
  }
  return leading;
}

void add(std::vector<Edge>& edges, const Edge& edge) {
  if (std::find(edges.begin(), edges.end(), edge) == edges.end()) edges.push_back(edge);
}

// The steps in parts; a part begins with one of `seen` that gets a gradient from the part before.
std::vector<WalkPart> cut_steps(const Tape& tape, std::span<const int> order, const std::vector<bool>& seen) {
  std::vector<WalkPart> parts(1);
  std::vector<bool> given(tape.nodes.size(), false);  // by the part that is last
  for (const int n : order) {
    if (tape.nodes[as_index(n)].is_input) continue;
    if (seen[as_index(n)] && given[as_index(n)]) {
      parts.emplace_back();
      given.assign(given.size(), false);
    }
    parts.back().steps.push_back(n);
    for (const Edge& each : tape.nodes[as_index(n)].edges) {
      if (each) given[as_index(each.node)] = true;
    }
  }
  return parts;
}

// `part_of`: of each node, -1 for inputs.
void find_targets(const Tape& tape, std::span<const int> part_of, std::vector<WalkPart>& parts) {
  for (std::size_t p = 0; p < parts.size(); ++p) {
    WalkPart& part = parts[p];
    for (const int n : part.steps) {
      for (const Edge& each : tape.nodes[as_index(n)].edges) {
        const int to = each ? part_of[as_index(each.node)] : static_cast<int>(p);
        if (to == static_cast<int>(p)) continue;
        add(part.targets, each);
        if (to >= 0) add(parts[as_index(to)].outputs, each);
      }
    }
  }
}

// Numbers the nodes on the way back from `roots` as the engine of the tape does when it explores them.
std::vector<int> explored(const Tape& tape, std::span<const Edge> roots) {
  std::vector<int> numbers(tape.nodes.size(), -1);
  int count = 0;
  std::vector<std::pair<int, std::size_t>> path;  // nodes, and how many of their edges were followed
  const auto reach = [&](const Edge& edge) {
    if (!edge || numbers[as_index(edge.node)] >= 0) return;
    numbers[as_index(edge.node)] = count++;
    path.emplace_back(edge.node, 0);
  };
  for (const Edge& root : roots) {
    reach(root);
    while (!path.empty()) {
      auto& [node, followed] = path.back();
      const std::vector<Edge>& edges = tape.nodes[as_index(node)].edges;
      if (followed == edges.size()) {
        path.pop_back();
      } else {
        reach(edges[followed++]);
      }
    }
  }
  return numbers;
}

// The gradients of a part arrive at once. The engine goes on to leaves from the last to the first, so hooks
// see them in the order of the tape when first is what gets its last contribution last; of two that get it
// from one step, the one that was explored first.
void order_targets(const Tape& tape, const std::vector<int>& numbers, WalkPart& part) {
  std::vector<int> last_step(tape.nodes.size(), -1);
  for (std::size_t k = 0; k < part.steps.size(); ++k) {
    for (const Edge& each : tape.nodes[as_index(part.steps[k])].edges) {
      if (each) last_step[as_index(each.node)] = static_cast<int>(k);
    }
  }
  std::stable_sort(part.targets.begin(), part.targets.end(), [&](const Edge& a, const Edge& b) {
    const int x = last_step[as_index(a.node)], y = last_step[as_index(b.node)];
    return x != y ? x > y : numbers[as_index(a.node)] < numbers[as_index(b.node)];
  });
}

}  // namespace

std::vector<int> walk_order(const Tape& tape, std::span<const Edge> roots) {
  std::vector<int> pending = count_leading(tape, roots), order;
  std::priority_queue<int> ready;
  for (int n = 0; n < static_cast<int>(pending.size()); ++n) {
    if (pending[as_index(n)] == 0) ready.push(n);
  }
  while (!ready.empty()) {
    const int youngest = ready.top();
    ready.pop();
    order.push_back(youngest);
    for (const Edge& each : tape.nodes[as_index(youngest)].edges) {
      if (each && --pending[as_index(each.node)] == 0) ready.push(each.node);
    }
  }
  return order;
}

std::vector<WalkPart> cut_walk(const Tape& tape, std::span<const Edge> leaving, std::span<const Edge> seen) {
  std::vector<bool> is_seen(tape.nodes.size(), false);
  for (const Edge& each : seen) is_seen[as_index(each.node)] = true;
  std::vector<WalkPart> parts = cut_steps(tape, walk_order(tape, leaving), is_seen);
  std::vector<int> part_of(tape.nodes.size(), -1);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (const int n : parts[p].steps) part_of[as_index(n)] = static_cast<int>(p);
  }
  for (const Edge& each : leaving) add(parts[as_index(part_of[as_index(each.node)])].outputs, each);
  find_targets(tape, part_of, parts);
  const std::vector<int> numbers = explored(tape, leaving);
  for (WalkPart& each : parts) order_targets(tape, numbers, each);
  return parts;
}

}  // namespace kiln::jit

#include "jit/passes/memories.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "jit/layouts.h"

namespace kiln::jit {

bool views_storage(const Node& node, Layout source, const SymbolValues& hints) {
  const Attrs attrs = evaluate(*node.op, node.attrs, hints);
  const std::vector<Layout> here = node.op->view(source, attrs);
  source.offset += 1;
  return !here.empty() && node.op->view(source, attrs)[0].offset == here[0].offset;
}

Memories memories_of(const Graph& graph) {
  Memories result;
  const std::vector<int> producers = graph.producers();
  const std::size_t count = graph.values.size();
  result.root.resize(count);
  std::iota(result.root.begin(), result.root.end(), 0);
  result.object = result.root;
  result.written.assign(count, false);
  result.viewed.assign(count, false);
  result.reach.assign(count, 0);
  for (const Node& node : graph.nodes) {
    if (!node.is_view() && !node.writes()) continue;
    const auto source = static_cast<std::size_t>(node.operands[0].value);
    const auto root = static_cast<std::size_t>(result.root[source]);
    for (const ValueId id : node.outputs) {
      result.root[static_cast<std::size_t>(id)] = static_cast<ValueId>(root);
      if (node.writes()) result.object[static_cast<std::size_t>(id)] = result.object[source];
    }
    if (node.writes() && !node.writes_layout()) result.written[root] = true;
    if (!node.is_view() && !node.writes_layout()) continue;
    result.viewed[root] = true;
    const Layout layout = layout_of(graph, producers, node.operands[0].value, graph.hints);
    if (!views_storage(node, layout, graph.hints)) continue;
    const Layout seen = layout_of(graph, producers, node.outputs[0], graph.hints);
    result.reach[root] = std::max(result.reach[root], extent(seen).second);
  }
  return result;
}

namespace {

struct Member {
  int input;
  Tensor probe;  // over memory that all members of a storage share
  std::int64_t begin, end;
};

bool is_symbolic(const Graph& graph, int input) {
  const Type& type = graph.values[static_cast<std::size_t>(input)].type;
  return std::any_of(type.sizes.begin(), type.sizes.end(),
                     [](const Size& each) { return !each.is_constant(); });
}

Layout input_layout(const Graph& graph, int input) {
  const auto at = static_cast<std::size_t>(input);
  Layout layout = layout_of_type(graph.values[at].type, graph.hints);
  layout.offset = graph.inputs[at].offset.evaluate(graph.hints);
  return layout;
}

// Members that share elements, directly or through others. Sorted by where they begin, each is compared only
// with those that reach into it.
std::vector<std::vector<int>> clusters(std::vector<Member> members) {
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return a.begin < b.begin; });
  std::vector<std::size_t> leader(members.size());
  std::iota(leader.begin(), leader.end(), 0);
  const auto find = [&leader](std::size_t i) {
    while (leader[i] != i) i = leader[i] = leader[leader[i]];
    return i;
  };
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < members.size(); ++i) {
    std::erase_if(open, [&](std::size_t j) { return members[j].end <= members[i].begin; });
    for (const std::size_t j : open) {
      if (find(i) != find(j) && overlaps(members[i].probe, members[j].probe)) leader[find(i)] = find(j);
    }
    open.push_back(i);
  }
  std::map<std::size_t, std::vector<int>> by_leader;
  for (std::size_t i = 0; i < members.size(); ++i) by_leader[find(i)].push_back(members[i].input);
  std::vector<std::vector<int>> result;
  for (auto& [at, inputs] : by_leader) {
    std::sort(inputs.begin(), inputs.end());
    result.push_back(std::move(inputs));
  }
  return result;
}

// A base is written back as a whole, from the start of the storage on. So what lies there among its elements,
// if only between them, belongs to it.
void take_in_between(const Graph& graph, const Memories& memories, std::vector<std::vector<int>>& clusters,
                     std::size_t at) {
  const auto reach = [&](const std::vector<int>& inputs) {
    std::pair<std::int64_t, std::int64_t> all{INT64_MAX, 0};
    for (const int i : inputs) {
      const auto [begin, end] = extent(input_layout(graph, i));
      all = {std::min(all.first, begin),
             std::max({all.second, end, memories.reach[static_cast<std::size_t>(i)]})};
    }
    return all;
  };
  for (std::size_t k = 0; k < clusters.size();) {
    if (k == at || clusters[k].empty() || reach(clusters[k]).first >= reach(clusters[at]).second) {
      ++k;
      continue;
    }
    clusters[at].insert(clusters[at].end(), clusters[k].begin(), clusters[k].end());
    clusters[k].clear();
    k = 0;
  }
  std::sort(clusters[at].begin(), clusters[at].end());
}

BaseGroup group_of(const Graph& graph, const Memories& memories, std::vector<int> inputs) {
  BaseGroup group{std::move(inputs), 0};
  for (const int input : group.inputs) {
    const Type& type = graph.values[static_cast<std::size_t>(input)].type;
    if (is_symbolic(graph, input) ||
        type.dtype != graph.values[static_cast<std::size_t>(group.inputs[0])].type.dtype) {
      throw OpError(ErrorKind::Capture,
                    "written inputs that share memory must have sizes that are known and one dtype", {input});
    }
    group.elements = std::max({group.elements, extent(input_layout(graph, input)).second,
                               memories.reach[static_cast<std::size_t>(input)]});
  }
  return group;
}

}  // namespace

std::vector<BaseGroup> base_groups(const Graph& graph, const Memories& memories) {
  std::map<int, std::vector<int>> by_storage;
  int alone = -1;  // inputs that share with none
  for (int i = 0; i < static_cast<int>(graph.inputs.size()); ++i) {
    const Input& input = graph.inputs[static_cast<std::size_t>(i)];
    by_storage[input.storage ? *input.storage : alone--].push_back(i);
  }
  std::vector<BaseGroup> groups;
  for (const auto& [storage, inputs] : by_storage) {
    const auto written = [&memories](int i) { return memories.written[static_cast<std::size_t>(i)]; };
    if (std::none_of(inputs.begin(), inputs.end(), written)) continue;
    std::vector<Member> members;
    std::int64_t size = 1;
    for (const int i : inputs) {
      size = std::max(
          {size, extent(input_layout(graph, i)).second, memories.reach[static_cast<std::size_t>(i)]});
    }
    const Tensor memory = Tensor::empty(Dims{size}, DType::U8);
    for (const int i : inputs) {
      Layout layout = input_layout(graph, i);
      // What counts from the start of the storage may see all of it.
      if (memories.reach[static_cast<std::size_t>(i)] > 0) layout = {{size}, {1}, 0};
      const auto [begin, end] = extent(layout);
      members.push_back({i, Tensor::alias(memory, layout), begin, end});
    }
    std::vector<std::vector<int>> parts = clusters(std::move(members));
    std::vector<bool> based(parts.size(), false);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (std::none_of(parts[k].begin(), parts[k].end(), written)) continue;
      const auto first = static_cast<std::size_t>(parts[k][0]);
      const bool scattered = memories.viewed[first] && !is_contiguous(input_layout(graph, parts[k][0]));
      based[k] = parts[k].size() > 1 || scattered || memories.reach[first] > 0;
    }
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (based[k] && !parts[k].empty()) take_in_between(graph, memories, parts, k);
    }
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (based[k] && !parts[k].empty()) groups.push_back(group_of(graph, memories, parts[k]));
    }
  }
  std::sort(groups.begin(), groups.end(),
            [](const BaseGroup& a, const BaseGroup& b) { return a.inputs[0] < b.inputs[0]; });
  return groups;
}

}  // namespace kiln::jit

#include "jit/passes/memories.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "jit/graph/layouts.h"
#include "jit/shape_rules.h"
#include "tensor/core_ops.h"

namespace kiln::jit {

// as_strided and the scatter that undoes it have the same attributes.
Layout places_of(const Node& node, const Layout& operand, const SymbolValues& hints) {
  return core_ops().as_strided.view(operand, evaluate(*node.op, node.attrs, hints)).front();
}

Dims strides_of(const Type& type) {
  if (type.strides) return *type.strides;
  Dims strides(type.sizes.size(), 1);
  for (std::size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * type.sizes[d];
  return strides;
}

namespace {

Layout input_layout(const Graph& graph, int input) {
  const auto at = static_cast<std::size_t>(input);
  Layout layout = evaluate(layout_of_type(graph.values[at].type), graph.hints);
  layout.offset = evaluate(graph.inputs[at].offset, graph.hints);
  return layout;
}

// The layout of a value in the memory of an input, with the offset from the start of the storage.
Layout layout_in_storage(const Graph& graph, std::span<const int> producers, ValueId id) {
  if (graph.is_input(id)) return input_layout(graph, id);
  const Node& node = graph.nodes[static_cast<std::size_t>(producers[static_cast<std::size_t>(id)])];
  const Operand& viewed = node.viewed();
  const Layout source = viewed.is_value() ? layout_in_storage(graph, producers, viewed.value) : Layout{};
  if (!node.is_view() && !node.writes_layout()) return source;
  const Attrs attrs = evaluate(*node.op, node.attrs, graph.hints);
  return layout_of_view(*node.op, source, attrs, static_cast<std::size_t>(id - node.outputs[0]));
}

}  // namespace

// Is the value a view of what has elements of another dtype? Places are counted in elements.
bool changes_dtype(const Graph& graph, std::span<const int> producers, ValueId id) {
  for (int place = producers[static_cast<std::size_t>(id)]; place >= 0;
       place = producers[static_cast<std::size_t>(id)]) {
    const Node& node = graph.nodes[static_cast<std::size_t>(place)];
    if ((!node.is_view() && !node.writes()) || !node.viewed().is_value()) return false;
    if (node.op->view_dtype != nullptr) return true;
    id = node.viewed().value;
  }
  return false;
}

Memories memories_of(const Graph& graph) {
  Memories result;
  const std::vector<int> producers = graph.producers();
  const std::size_t count = graph.values.size();
  result.root.resize(count);
  std::iota(result.root.begin(), result.root.end(), 0);
  result.written.assign(count, false);
  result.reach.assign(count, 0);
  for (const Node& node : graph.nodes) {
    const bool counts = node.counts_places();
    if (!node.is_view() && !node.writes() && !counts) continue;
    if (!node.viewed().is_value()) continue;  // a view of a number has memory of its own
    const ValueId root = result.root[static_cast<std::size_t>(node.viewed().value)];
    const auto at = static_cast<std::size_t>(root);
    if (counts && changes_dtype(graph, producers, node.operands[0].value))
      throw OpError(ErrorKind::Capture, "places are counted in a view of another dtype");
    if (counts && at < graph.inputs.size()) {
      const Layout source = layout_in_storage(graph, producers, node.operands[0].value);
      result.reach[at] =
          std::max<std::int64_t>(result.reach[at], extent(places_of(node, source, graph.hints)).second);
    }
    if (!node.is_view() && !node.writes()) continue;
    for (const ValueId id : node.outputs) result.root[static_cast<std::size_t>(id)] = root;
    if (node.writes() && !node.writes_metadata()) result.written[at] = true;
  }
  return result;
}

namespace {

// ---- Which inputs share elements ----

struct Member {
  int input;
  Layout layout;
  std::int64_t begin, end;
};

class Clusters {
 public:
  explicit Clusters(std::vector<Member> members) : members_(std::move(members)), leader_(members_.size()) {
    std::sort(members_.begin(), members_.end(),
              [](const Member& a, const Member& b) { return a.begin < b.begin; });
    std::iota(leader_.begin(), leader_.end(), 0);
    for (const Member& each : members_) end_ = std::max(end_, each.end);
  }

  // Inputs that share elements, directly or through others.
  std::vector<std::vector<int>> run() {
    if (!compare_pairs()) mark_elements();
    std::map<std::size_t, std::vector<int>> by_leader;
    for (std::size_t i = 0; i < members_.size(); ++i) by_leader[find(i)].push_back(members_[i].input);
    std::vector<std::vector<int>> result;
    for (auto& [at, inputs] : by_leader) {
      std::sort(inputs.begin(), inputs.end());
      result.push_back(std::move(inputs));
    }
    return result;
  }

 private:
  // What it costs to compare a pair, in elements marked.
  static constexpr std::int64_t kPairCost = 64;

  std::size_t find(std::size_t i) {
    while (leader_[i] != i) i = leader_[i] = leader_[leader_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) { leader_[find(a)] = find(b); }

  // Each is compared only with those that reach into it. Many may, as the columns of a matrix do; false when
  // looking at each element costs less.
  bool compare_pairs() {
    if (members_.size() < 2) return true;
    const Tensor memory = Tensor::without_elements(Dims{end_}, DType::U8, Device{});
    std::int64_t left = (end_ - members_[0].begin) / kPairCost + static_cast<std::int64_t>(members_.size());
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      std::erase_if(open, [&](std::size_t j) { return members_[j].end <= members_[i].begin; });
      left -= static_cast<std::int64_t>(open.size());
      if (left < 0) return false;
      const Tensor probe = Tensor::alias(memory, members_[i].layout);
      for (const std::size_t j : open) {
        if (find(i) != find(j) && overlaps(probe, Tensor::alias(memory, members_[j].layout))) join(i, j);
      }
      open.push_back(i);
    }
    return true;
  }

  void mark_elements() {
    const std::int64_t begin = members_[0].begin;
    std::vector<int> owner(static_cast<std::size_t>(end_ - begin), -1);
    for (std::size_t i = 0; i < members_.size(); ++i) {
      mark(members_[i].layout, 0, members_[i].layout.offset, [&](std::int64_t place) {
        int& at = owner[static_cast<std::size_t>(place - begin)];
        if (at >= 0) join(i, static_cast<std::size_t>(at));
        at = static_cast<int>(i);
      });
    }
  }
  template <class F>
  static void mark(const Layout& layout, std::size_t dim, std::int64_t place, const F& f) {
    if (dim == layout.sizes.size()) return f(place);
    for (Dim k = 0; k < layout.sizes[dim]; ++k) mark(layout, dim + 1, place + k * layout.strides[dim], f);
  }

  std::vector<Member> members_;
  std::vector<std::size_t> leader_;
  std::int64_t end_ = 1;
};

// ---- Bases ----

class MemoryGroups {
 public:
  MemoryGroups(const Graph& graph, const Memories& memories) : graph_(graph), memories_(memories) {}

  // Of the inputs of one storage.
  void add(const std::vector<int>& inputs) {
    if (std::none_of(inputs.begin(), inputs.end(), [this](int i) { return is_written(i); })) return;
    std::vector<std::vector<int>> parts = clusters(inputs);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (reach_of(parts[k]) > 0 && any_written(parts[k])) take_in_between(parts, k);
    }
    for (std::vector<int>& each : parts) {
      if (any_written(each) && (each.size() > 1 || reach_of(each) > 0))
        groups.push_back(group_of(std::move(each)));
    }
  }

  std::vector<BaseGroup> groups;

 private:
  const Type& type(int input) const { return graph_.values[static_cast<std::size_t>(input)].type; }
  const Input& input(int at) const { return graph_.inputs[static_cast<std::size_t>(at)]; }
  bool is_written(int input) const { return memories_.written[static_cast<std::size_t>(input)]; }
  bool any_written(const std::vector<int>& inputs) const {
    return std::any_of(inputs.begin(), inputs.end(), [this](int i) { return is_written(i); });
  }
  std::int64_t reach_of(const std::vector<int>& inputs) const {
    std::int64_t reach = 0;
    for (const int i : inputs) reach = std::max(reach, memories_.reach[static_cast<std::size_t>(i)]);
    return reach;
  }
  bool is_symbolic(int input) const { return has_symbols(type(input).sizes); }
  std::vector<std::vector<int>> clusters(const std::vector<int>& inputs) const {
    if (inputs.size() == 1) return {inputs};
    for (const int each : inputs) {
      if (!is_symbolic(each)) continue;  // with other sizes others might share elements
      throw OpError(ErrorKind::Capture,
                    "inputs that lie in one memory, one of them written, with sizes that are symbols",
                    {each});
    }
    for (const int each : inputs) {
      if (type(each).dtype == type(inputs[0]).dtype) continue;
      throw OpError(ErrorKind::Capture,
                    "inputs that lie in one memory, one of them written, have different dtypes",
                    {inputs[0], each});
    }
    std::vector<Member> members;
    for (const int i : inputs) {
      Layout layout = input_layout(graph_, i);
      if (count_elements(layout.sizes) == 0) layout = {{0}, {1}, 0};
      // What counts places may see all of the storage up to there.
      const std::int64_t reach = memories_.reach[static_cast<std::size_t>(i)];
      if (reach > 0) layout = {{std::max<Dim>(reach, extent(layout).second)}, {1}, 0};
      const auto [begin, end] = extent(layout);
      members.push_back({i, std::move(layout), begin, end});
    }
    return Clusters(std::move(members)).run();
  }

  // A base that is written back as a whole, from the start of the storage on, takes in all inputs within its
  // extent, even those between its elements.
  void take_in_between(std::vector<std::vector<int>>& parts, std::size_t at) const {
    for (std::size_t k = 0; k < parts.size();) {
      if (k == at || parts[k].empty() || bounds(parts[k]).first >= bounds(parts[at]).second) {
        ++k;
        continue;
      }
      parts[at].insert(parts[at].end(), parts[k].begin(), parts[k].end());
      parts[k].clear();
      k = 0;
    }
    std::sort(parts[at].begin(), parts[at].end());
  }
  std::pair<std::int64_t, std::int64_t> bounds(const std::vector<int>& inputs) const {
    std::pair<std::int64_t, std::int64_t> all{INT64_MAX, reach_of(inputs)};
    for (const int i : inputs) {
      const auto [begin, end] = extent(input_layout(graph_, i));
      all = {std::min<std::int64_t>(all.first, begin), std::max<std::int64_t>(all.second, end)};
    }
    return all;
  }

  BaseGroup group_of(std::vector<int> inputs) const {
    for (const int each : inputs) {
      if (is_symbolic(each)) {
        throw OpError(ErrorKind::Capture,
                      "a written input, places of which are counted, with sizes that are symbols", {each});
      }
      if (type(each).dtype != type(inputs[0]).dtype) {
        throw OpError(ErrorKind::Capture, "written inputs that share memory have different dtypes",
                      {inputs[0], each});
      }
    }
    BaseGroup group;
    group.elements = bounds(inputs).second;
    group.is_written_whole = reach_of(inputs) > 0;
    group.inputs = std::move(inputs);
    return group;
  }

  const Graph& graph_;
  const Memories& memories_;
};

}  // namespace

std::vector<BaseGroup> base_groups(const Graph& graph, const Memories& memories) {
  std::map<int, std::vector<int>> by_storage;
  int alone = -1;  // inputs that share with none
  for (int i = 0; i < static_cast<int>(graph.inputs.size()); ++i) {
    const Input& input = graph.inputs[static_cast<std::size_t>(i)];
    by_storage[input.storage ? *input.storage : alone--].push_back(i);
  }
  MemoryGroups grouping(graph, memories);
  for (const auto& [storage, inputs] : by_storage) grouping.add(inputs);
  std::sort(grouping.groups.begin(), grouping.groups.end(),
            [](const BaseGroup& a, const BaseGroup& b) { return a.inputs[0] < b.inputs[0]; });
  return std::move(grouping.groups);
}

}  // namespace kiln::jit

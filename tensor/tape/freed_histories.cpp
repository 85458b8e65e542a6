#include "tensor/tape/freed_histories.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tensor/tape/leaf.h"
#include "tensor/tape/meta.h"

namespace kiln::tape {
namespace {

// Calls f(node) once for each node that the edges lead to; goes on behind a node where f returns true.
template <class F>
void walk(std::vector<const Node*> ahead, F&& f) {
  std::unordered_set<const Node*> seen;
  while (!ahead.empty()) {
    const Node* node = ahead.back();
    ahead.pop_back();
    if (!seen.insert(node).second || !f(*node)) continue;
    for (const Edge& each : node->edges) {
      if (each) ahead.push_back(each.node.get());
    }
  }
}

bool has_listeners(const Node& node) {
  return node.hooks != nullptr && (!node.hooks->retained.empty() ||
                                   std::any_of(node.hooks->on_output.begin(), node.hooks->on_output.end(),
                                               [](const auto& hook) { return bool{hook.entry->run}; }));
}

// Calls f(entry) for each hook that was not removed, before the gradient is added.
template <class F>
void each_hook(const Node& node, F&& f) {
  if (node.hooks == nullptr) return;
  for (const NodeHooks::OnOutput& each : node.hooks->on_output) {
    if (each.entry->run) f(*each.entry);
  }
}

bool is_leaf_for_hooks(const Tensor& x) {
  const AutogradMeta* meta = meta_of(x);
  return meta != nullptr && meta->leaf && !meta->retained;
}

// Calls f(id) for each hook of a leaf, in their order.
template <class F>
void each_hook_of_leaf(const Tensor& x, F&& f) {
  const Node& node = *history(x).node;
  each_hook(node, [&f](const HookEntry& each) { f(each.id); });
  for (const LeafNode::Numbered& each : static_cast<const LeafNode&>(node).post_hooks()) f(each.id);
}

}  // namespace

Reach reach_of(std::span<const Tensor> tensors, std::uint64_t since) {
  Reach reach;
  std::vector<const Node*> ahead;
  for (const Tensor& each : tensors) {
    if (const Edge edge = history(each)) ahead.push_back(edge.node.get());
  }
  walk(std::move(ahead), [&](const Node& node) {
    if (node.is_leaf()) {
      const auto& leaf = static_cast<const LeafNode&>(node);
      each_hook(leaf, [&reach](const HookEntry& each) { reach.hooks.push_back(each.run); });
      for (const LeafNode::Numbered& each : leaf.post_hooks()) reach.post_hooks.push_back(each.run);
      if (Tensor x = leaf.leaf()) reach.leaves.push_back(std::move(x));
      return false;
    }
    if (node.hooks != nullptr && !node.hooks->retained.empty())
      reach.obstacle = "a gradient is retained: `grads` gives it, or a hook";
    if (node.is_opaque()) reach.obstacle = "the backward of an `autograd` function is called";
    if (node.sequence < since) reach.obstacle = "a gradient flows into what was computed before";
    return reach.obstacle.empty();
  });
  return reach;
}

std::optional<std::vector<int>> hooks_of_leaf(const Tensor& x) {
  if (!is_leaf_for_hooks(x)) return std::nullopt;
  std::vector<int> hooks;
  each_hook_of_leaf(x, [&hooks](int id) { hooks.push_back(id); });
  return hooks;
}

bool is_leaf_with(const Tensor& x, std::span<const int> hooks) {
  if (!is_leaf_for_hooks(x)) return false;
  std::size_t seen = 0;
  bool same = true;
  each_hook_of_leaf(x, [&](int id) {
    same = same && seen < hooks.size() && hooks[seen] == id;
    ++seen;
  });
  return same && seen == hooks.size();
}

// Reads the nodes up to those whose values were freed: no gradient goes further.
class FreedHistories::Reader {
 public:
  bool read(std::span<const Tensor> tensors) {
    for (const Tensor& each : tensors) {
      if (const Edge edge = history(each)) kept_.insert(edge.node.get());
    }
    // Nodes of the tensors end the paths behind a freed node. They may be anywhere below it, so all are read.
    for (const Node* each : kept_) {
      if (!collect(each)) return false;
    }
    std::sort(nodes_.begin(), nodes_.end(),
              [](const auto* a, const auto* b) { return a->sequence < b->sequence; });
    for (std::size_t k = 0; k < nodes_.size(); ++k) numbers_[nodes_[k]] = static_cast<std::uint32_t>(k);
    for (const OpNode* each : nodes_) made_.steps_.push_back({*each->bare(), edges_of(*each)});
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (const Edge edge = history(tensors[i])) made_.tensor_edges_.push_back({i, to(edge)});
    }
    return !lost_;
  }
  FreedHistories take() { return std::move(made_); }

 private:
  // False when a node still holds values.
  bool collect(const Node* root) {
    bool freed = true;
    walk({root}, [&](const Node& node) {
      if (node.is_leaf()) return false;
      const auto* op = dynamic_cast<const OpNode*>(&node);
      const auto bare = op != nullptr ? op->bare() : std::nullopt;
      freed = freed && bare.has_value() && !has_listeners(node);
      if (!freed) return false;
      if (std::find(nodes_.begin(), nodes_.end(), op) == nodes_.end()) nodes_.push_back(op);
      return !bare->released;
    });
    return freed;
  }

  std::vector<To> edges_of(const OpNode& node) {
    std::vector<To> edges;
    if (!node.bare()->released) {
      for (const Edge& each : node.edges) edges.push_back(to(each));
      return edges;
    }
    // A backward to any node behind this one fails, since its values were freed. So edges lead there
    // directly.
    std::vector<const Node*> ahead;
    for (const Edge& each : node.edges) {
      if (each) ahead.push_back(each.node.get());
    }
    walk(std::move(ahead), [&](const Node& behind) {
      const bool ends = behind.is_leaf() || kept_.contains(&behind);
      if (ends) edges.push_back(to_node(behind));
      return !ends;
    });
    return edges;
  }

  To to(const Edge& edge) {
    if (!edge) return {};
    To found = to_node(*edge.node);
    found.output = edge.output;
    return found;
  }
  To to_node(const Node& node) {
    if (!node.is_leaf()) return {To::Kind::Step, numbers_.at(&node), 0};
    Tensor x = static_cast<const LeafNode&>(node).leaf();
    if (!x) {
      lost_ = true;
      return {};
    }
    auto& leaves = made_.leaves_;
    auto at = std::find_if(leaves.begin(), leaves.end(), [&](const Tensor& each) { return each.is_same(x); });
    if (at == leaves.end()) at = leaves.insert(leaves.end(), std::move(x));
    return {To::Kind::Leaf, static_cast<std::uint32_t>(at - leaves.begin()), 0};
  }

  FreedHistories made_;
  std::unordered_set<const Node*> kept_;  // nodes of the tensors themselves
  std::vector<const OpNode*> nodes_;
  std::unordered_map<const Node*, std::uint32_t> numbers_;
  bool lost_ = false;  // a leaf no longer exists
};

std::optional<FreedHistories> FreedHistories::of(std::span<const Tensor> tensors) {
  Reader reader;
  if (!reader.read(tensors)) return std::nullopt;
  return reader.take();
}

bool FreedHistories::keep_sizes(const std::vector<bool>& varies) const {
  const auto works = [](const Step& step) { return !step.bare.released; };
  const auto leads_to_leaf = [](const Step& step) {
    return std::any_of(step.edges.begin(), step.edges.end(),
                       [](const To& each) { return each.kind == To::Kind::Leaf; });
  };
  return std::any_of(steps_.begin(), steps_.end(),
                     [&](const Step& step) { return works(step) && leads_to_leaf(step); }) ||
         std::any_of(tensor_edges_.begin(), tensor_edges_.end(), [&](const TensorEdge& each) {
           return each.to.kind == To::Kind::Step && varies[each.tensor] && works(steps_[each.to.at]);
         });
}

void FreedHistories::settle(const SymbolValues& values) {
  const auto settle = [&values](auto& types) {
    for (TensorType& each : types) each.sizes = evaluate(each.sizes, values);
  };
  for (Step& each : steps_) {
    each.bare.attrs = evaluate(std::move(each.bare.attrs), values);
    settle(each.bare.input_types);
    settle(each.bare.output_types);
  }
}

void FreedHistories::give(Inputs tensors, Inputs leaves) const {
  std::vector<Ref<Node>> nodes;
  const auto edge_to = [&](const To& to) {
    if (to.kind == To::Kind::Constant) return Edge{};
    if (to.kind == To::Kind::Leaf) return history(leaves[to.at]);
    return Edge{nodes[to.at], to.output};
  };
  for (const Step& step : steps_) {
    SmallVector<Edge, 2> edges;
    for (const To& each : step.edges) edges.push_back(edge_to(each));
    nodes.push_back(Ref<Node>::made(new OpNode(step.bare, std::move(edges))));
  }
  for (const TensorEdge& each : tensor_edges_) {
    const Edge edge = edge_to(each.to);
    if (each.to.kind == To::Kind::Step) edge.node->output_types[edge.output] = tensors[each.tensor].type();
    start_history(tensors[each.tensor], edge);
  }
}

}  // namespace kiln::tape

#include "jit/graph/match.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "jit/graph/text.h"
#include "tensor/op.h"

namespace kiln::jit {
namespace {

using Key = std::size_t;

Key mixed(Key a, Key b) { return a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6) + (a >> 2)); }
Key key_of(std::string_view text) { return std::hash<std::string_view>()(text); }

Key key_of(const Number& number) {
  if (const auto* size = std::get_if<Dim>(&number)) return key_of(size->text());
  if (const auto* real = std::get_if<double>(&number)) return mixed(2, std::bit_cast<std::uint64_t>(*real));
  return std::get<bool>(number) ? 4 : 3;
}

// A key for what each value and each node computes: equal computations have equal keys.
struct Keys {
  std::vector<Key> values;
  std::vector<Key> nodes;
};

Key key_of_input(const Graph& graph, std::size_t i) {
  Key key = mixed(key_of(name(graph.inputs[i].role)), i);
  return mixed(key, key_of(to_string(graph.values[i].type)));
}

Key key_of_operand(const Operand& operand, const Keys& keys) {
  if (operand.is_value()) return keys.values[static_cast<std::size_t>(operand.value)];
  return operand.is_number() ? key_of(operand.number) : 1;
}

Key key_of_node(const Node& node, const Keys& keys, const OpText& text_of_op) {
  Key key = key_of(op_text(node));
  if (node.is_constant()) return mixed(key, key_of(digest(node.constant)));
  key = mixed(key, key_of(application_text(*node.op, node.attrs)));
  if (text_of_op) key = mixed(key, key_of(text_of_op(*node.op)));
  for (const Operand& each : node.operands) key = mixed(key, key_of_operand(each, keys));
  return key;
}

Keys keys_of(const Graph& graph, const OpText& text_of_op) {
  Keys keys{std::vector<Key>(graph.values.size()), {}};
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) keys.values[i] = key_of_input(graph, i);
  Key writes = 0;  // of those so far, which decide what is read
  Key draws = 0;   // of those so far, which decide what is drawn
  for (const Node& node : graph.nodes) {
    Key key = mixed(key_of_node(node, keys, text_of_op), writes);
    if (node.op != nullptr && node.op->is_ordered()) draws = key = mixed(key, draws);
    if (node.writes() && !graph.is_functional()) writes = mixed(writes, key);
    keys.nodes.push_back(key);
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      keys.values[static_cast<std::size_t>(node.outputs[k])] = mixed(key, k);
  }
  return keys;
}

constexpr int kNone = -1;

// For each node of `b` that of `a` with the same key; each is used once.
std::vector<int> same_nodes(const Keys& a, const Keys& b) {
  std::unordered_map<Key, std::deque<int>> by_key;
  for (std::size_t i = 0; i < a.nodes.size(); ++i) by_key[a.nodes[i]].push_back(static_cast<int>(i));
  std::vector<int> partner(b.nodes.size(), kNone);
  for (std::size_t j = 0; j < b.nodes.size(); ++j) {
    const auto found = by_key.find(b.nodes[j]);
    if (found == by_key.end() || found->second.empty()) continue;
    partner[j] = found->second.front();
    found->second.pop_front();
  }
  return partner;
}

int likeness(const Node& a, const Node& b) {
  if (a.outputs.size() != b.outputs.size()) return 0;
  if (op_text(a) != op_text(b)) return 0;
  return !a.place.file.empty() && a.place == b.place ? 2 : 1;
}

constexpr std::size_t kMostPairs = 4'000'000;

// Pairs nodes that are left, in order, so that they are as alike as possible (Needleman and Wunsch, 1970).
void pair_like_nodes(const Graph& a, const Graph& b, std::vector<int>& partner) {
  std::vector<bool> is_taken(a.nodes.size());
  for (const int each : partner) {
    if (each != kNone) is_taken[static_cast<std::size_t>(each)] = true;
  }
  std::vector<std::size_t> left, right;
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    if (!is_taken[i]) left.push_back(i);
  }
  for (std::size_t j = 0; j < b.nodes.size(); ++j) {
    if (partner[j] == kNone) right.push_back(j);
  }
  const std::size_t width = right.size() + 1;
  if ((left.size() + 1) * width > kMostPairs) return;
  std::vector<int> best((left.size() + 1) * width);
  for (std::size_t i = left.size(); i-- > 0;) {
    for (std::size_t j = right.size(); j-- > 0;) {
      const int like = likeness(a.nodes[left[i]], b.nodes[right[j]]);
      const int both = like > 0 ? best[(i + 1) * width + j + 1] + like : 0;
      best[i * width + j] = std::max({both, best[(i + 1) * width + j], best[i * width + j + 1]});
    }
  }
  for (std::size_t i = 0, j = 0; i < left.size() && j < right.size();) {
    const int like = likeness(a.nodes[left[i]], b.nodes[right[j]]);
    if (like > 0 && best[i * width + j] == best[(i + 1) * width + j + 1] + like) {
      partner[right[j++]] = static_cast<int>(left[i++]);
    } else if (best[i * width + j] == best[(i + 1) * width + j]) {
      ++i;
    } else {
      ++j;
    }
  }
}

// Gives values of `b` the names of those of `a` that they stand for; the others keep theirs, as far as they
// are free.
void rename(Graph& b, const Graph& a, const std::vector<int>& partner) {
  const std::vector<std::string> names_a = value_names(a), names_b = value_names(b);
  std::vector<std::string> names(b.values.size());
  std::unordered_set<std::string> used;
  const auto give = [&](ValueId to, ValueId from) {
    const std::string& name = names_a[static_cast<std::size_t>(from)];
    if (used.insert(name).second) names[static_cast<std::size_t>(to)] = name;
  };
  for (std::size_t i = 0; i < std::min(a.inputs.size(), b.inputs.size()); ++i)
    give(static_cast<ValueId>(i), static_cast<ValueId>(i));
  for (std::size_t j = 0; j < b.nodes.size(); ++j) {
    if (partner[j] == kNone) continue;
    const Node& like = a.nodes[static_cast<std::size_t>(partner[j])];
    for (std::size_t k = 0; k < like.outputs.size(); ++k) give(b.nodes[j].outputs[k], like.outputs[k]);
  }
  for (std::size_t v = 0; v < names.size(); ++v) {
    std::string name = names[v];
    for (int n = 0; name.empty() || (names[v].empty() && !used.insert(name).second); ++n)
      name = names_b[v] + (n == 0 ? "" : "_" + std::to_string(n));
    b.values[v].name = name.substr(name.starts_with('%') ? 1 : 0);
  }
}

// Nodes that are the same stand as in `a`; the others where the ones do that they stand for, but behind what
// they read and behind the node before.
void reorder(Graph& b, const std::vector<int>& same, const std::vector<int>& partner) {
  const std::vector<int> producers = b.producers();
  std::vector<int> key(b.nodes.size());
  for (std::size_t j = 0; j < b.nodes.size(); ++j) {
    key[j] = partner[j];
    if (same[j] != kNone) continue;
    if (j > 0) key[j] = std::max(key[j], key[j - 1]);
    for (const Operand& each : b.nodes[j].operands) {
      const int maker = each.is_value() ? producers[static_cast<std::size_t>(each.value)] : kNone;
      if (maker != kNone) key[j] = std::max(key[j], key[static_cast<std::size_t>(maker)]);
    }
  }
  std::vector<std::size_t> order(b.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t p, std::size_t q) {
    return std::pair(key[p], same[p] == kNone) < std::pair(key[q], same[q] == kNone);
  });
  std::vector<Node> nodes;
  for (const std::size_t j : order) nodes.push_back(std::move(b.nodes[j]));
  b.nodes = std::move(nodes);
}

}  // namespace

Graph named_like(const Graph& a, const Graph& b, const OpText& text_of_op) {
  Graph like = b;
  const std::vector<int> same = same_nodes(keys_of(a, text_of_op), keys_of(b, text_of_op));
  std::vector<int> partner = same;
  pair_like_nodes(a, b, partner);
  rename(like, a, partner);
  reorder(like, same, partner);
  like.name = a.name;
  return like;
}

}  // namespace kiln::jit

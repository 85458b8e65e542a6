#include "interpreter/host/pytree.h"

#include <fmt/format.h>

#include "interpreter/vm/arguments.h"
#include "tensor/interrupt.h"

namespace kiln::interp::host {
namespace {

constexpr int kDeepest = 1000;

std::string join(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

struct Child {
  std::string name;
  const Value* value;
};

// The values one level down, in order; nothing for leaves.
std::vector<Child> children_of(const Value& tree) {
  std::vector<Child> children;
  if (const auto* items = items_of(tree)) {
    for (const Value& item : *items) {
      check_interrupt();
      children.push_back({std::to_string(children.size()), &item});
    }
  } else if (tree.is(Tag::Dict)) {
    for (const Dict::Entry& entry : tree.as<Dict>().entries()) {
      check_interrupt();
      if (!entry.live) continue;
      children.push_back({entry.key.is(Tag::Str) ? text_of(entry.key) : describe(entry.key), &entry.value});
    }
  } else if (tree.is(Tag::Instance)) {
    const auto& instance = tree.as<Instance>();
    for (std::size_t i = 0; i < instance.fields.size(); ++i) {
      if (instance.fields[i].is_unset()) continue;
      children.push_back({instance.struct_type().fields[i], &instance.fields[i]});
    }
    for (const auto& [name, value] : instance.extra) children.push_back({name, &value});
  }
  return children;
}

bool is_leaf(const Value& tree) { return !items_of(tree) && !tree.is(Tag::Dict) && !tree.is(Tag::Instance); }

// Where each walk comes by.
void check_depth(int depth) {
  check_interrupt();
  if (depth > kDeepest) {
    raise("RecursionError",
          fmt::format("a pytree nests more than {} levels deep, or contains itself", kDeepest));
  }
}

void visit_leaves(const Value& tree, const std::string& path, int depth, const LeafVisitor& visit) {
  check_depth(depth);
  if (is_leaf(tree)) return visit(tree, path);
  for (const Child& child : children_of(tree))
    visit_leaves(*child.value, join(path, child.name), depth + 1, visit);
}

class Mapper {
 public:
  explicit Mapper(const LeafMap& f) : f_(f) {}

  Value map(const Value& tree, const std::string& path, int depth) {
    check_depth(depth);
    if (is_leaf(tree)) return f_(tree, path);
    if (tree.is(Tag::Instance)) return map_instance(tree, path, depth);
    if (tree.is(Tag::Dict)) return map_dict(tree, path, depth);
    std::vector<Value> items;
    for (const Child& child : children_of(tree))
      items.push_back(map(*child.value, join(path, child.name), depth + 1));
    return tree.is(Tag::List) ? list_value(std::move(items)) : tuple_value(std::move(items));
  }

 private:
  Value map_dict(const Value& tree, const std::string& path, int depth) {
    Value result = make<Dict>();
    const std::vector<Child> children = children_of(tree);
    std::size_t next = 0;
    for (const Dict::Entry& entry : tree.as<Dict>().entries()) {
      if (!entry.live) continue;
      const Child& child = children[next++];
      result.as<Dict>().set(entry.key, map(*child.value, join(path, child.name), depth + 1));
    }
    return result;
  }

  Value map_instance(const Value& tree, const std::string& path, int depth) {
    const auto& from = tree.as<Instance>();
    Value result = make<Instance>(from.type);
    auto& to = result.as<Instance>();
    for (std::size_t i = 0; i < from.fields.size(); ++i) {
      to.fields.push_back(from.fields[i].is_unset()
                              ? Value::unset()
                              : map(from.fields[i], join(path, from.struct_type().fields[i]), depth + 1));
    }
    for (const auto& [name, value] : from.extra)
      to.extra.emplace_back(name, map(value, join(path, name), depth + 1));
    return result;
  }

  const LeafMap& f_;
};

std::string at(const std::string& path) { return path.empty() ? "" : fmt::format(" at {}", path); }

bool same_kind(const Value& a, const Value& b) {
  if (a.tag() != b.tag()) return false;
  return !a.is(Tag::Instance) || &a.as<Instance>().struct_type() == &b.as<Instance>().struct_type();
}

// Dicts that differ mostly do so by a key.
std::string described(const Value& tree) {
  constexpr std::size_t kMost = 8;
  const std::string text = describe(tree);
  if (!tree.is(Tag::Dict)) return text;
  std::vector<std::string> names;
  for (const Child& each : children_of(tree)) names.push_back(each.name);
  return names.empty() || names.size() > kMost ? text : fmt::format("{} ({})", text, fmt::join(names, ", "));
}

[[noreturn]] void differs(const Value& tree, const Value& other, const std::string& path,
                          const std::string& what) {
  raise("ValueError", fmt::format("{}{}: the structure must be that of {}, got {}", what, at(path),
                                  described(tree), described(other)));
}

// Pairs children by their places; both are containers of one kind and size.
std::vector<std::pair<Child, Child>> pair_children(const Value& tree, const Value& other,
                                                   const std::string& path, const std::string& what) {
  std::vector<Child> ours = children_of(tree);
  std::vector<Child> theirs = children_of(other);
  if (!same_kind(tree, other) || ours.size() != theirs.size()) differs(tree, other, path, what);
  std::vector<std::pair<Child, Child>> pairs;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    std::size_t k = i;
    if (ours[i].name != theirs[i].name) {  // dicts may have another order
      k = 0;
      while (k < theirs.size() && theirs[k].name != ours[i].name) ++k;
      if (k == theirs.size()) differs(tree, other, join(path, ours[i].name), what);
    }
    pairs.emplace_back(ours[i], theirs[k]);
  }
  return pairs;
}

void pair_into(const Value& tree, const Value& other, const std::string& path, const std::string& what,
               int depth, std::vector<std::pair<kiln::Tensor, Value>>& pairs) {
  check_depth(depth);
  if (tree.is(Tag::Tensor)) {
    if (!is_leaf(other)) differs(tree, other, path, what);
    pairs.emplace_back(tree.as_tensor(), other);
    return;
  }
  if (is_leaf(tree)) return;
  for (const auto& [ours, theirs] : pair_children(tree, other, path, what))
    pair_into(*ours.value, *theirs.value, join(path, ours.name), what, depth + 1, pairs);
}

void broadcast_into(const Value& tree, const Value& prefix, const std::string& path, const std::string& what,
                    int depth, std::vector<Value>& found) {
  check_depth(depth);
  if (is_leaf(prefix)) {
    visit_leaves(tree, path, depth, [&](const Value&, const std::string&) { found.push_back(prefix); });
    return;
  }
  // A list may stand for a tuple: (0, none) and [0, none] say the same.
  const bool sequences = items_of(tree) && items_of(prefix);
  if (sequences && items_of(tree)->size() == items_of(prefix)->size()) {
    for (std::size_t i = 0; i < items_of(tree)->size(); ++i)
      broadcast_into((*items_of(tree))[i], (*items_of(prefix))[i], join(path, std::to_string(i)), what,
                     depth + 1, found);
    return;
  }
  for (const auto& [ours, theirs] : pair_children(tree, prefix, path, what))
    broadcast_into(*ours.value, *theirs.value, join(path, ours.name), what, depth + 1, found);
}

}  // namespace

void each_leaf(const Value& tree, const LeafVisitor& visit) { visit_leaves(tree, "", 0, visit); }

Value map_leaves(const Value& tree, const LeafMap& f) { return Mapper(f).map(tree, "", 0); }

Value map_tensors(const Value& tree, const std::function<Value(const kiln::Tensor&)>& f) {
  return map_leaves(tree, [&](const Value& leaf, const std::string&) {
    return leaf.is(Tag::Tensor) ? f(leaf.as_tensor()) : leaf;
  });
}

std::vector<kiln::Tensor> tensors_in(const Value& tree) {
  std::vector<kiln::Tensor> tensors;
  each_leaf(tree, [&](const Value& leaf, const std::string&) {
    if (leaf.is(Tag::Tensor)) tensors.push_back(leaf.as_tensor());
  });
  return tensors;
}

Value with_tensors(const Value& tree, const std::vector<Value>& leaves) {
  std::size_t next = 0;
  return map_tensors(tree, [&](const kiln::Tensor&) { return leaves[next++]; });
}

std::vector<std::pair<kiln::Tensor, Value>> pair_tensors(const Value& tree, const Value& other,
                                                         const std::string& what) {
  std::vector<std::pair<kiln::Tensor, Value>> pairs;
  pair_into(tree, other, "", what, 0, pairs);
  return pairs;
}

std::vector<Value> broadcast_prefix(const Value& tree, const Value& prefix, const std::string& what) {
  std::vector<Value> found;
  broadcast_into(tree, prefix, "", what, 0, found);
  return found;
}

}  // namespace kiln::interp::host

// Ensembles of decision trees (ai.onnx.ml): all trees of all rows go down one level at a time.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "onnx/import/call.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"

namespace kiln::onnx {
namespace {

constexpr std::string_view kDomain = "ai.onnx.ml";
constexpr std::int64_t kMostNodes = 10'000'000;

// How a node compares a feature with its number, as the outcomes for which its first branch is taken.
struct Comparison {
  bool less = false, equal = false, greater = false, missing = false;
};

Comparison comparison_of(Call& call, const std::string& mode, bool missing) {
  if (mode == "BRANCH_LEQ") return {true, true, false, missing};
  if (mode == "BRANCH_LT") return {true, false, false, missing};
  if (mode == "BRANCH_GTE") return {false, true, true, missing};
  if (mode == "BRANCH_GT") return {false, false, true, missing};
  if (mode == "BRANCH_EQ") return {false, true, false, missing};
  if (mode == "BRANCH_NEQ") return {true, false, true, true};  // a nan differs from all numbers
  call.refuse("has nodes of the unknown mode " + mode);
}

// The nodes of all trees. A leaf is a node whose branches lead to itself.
class Forest {
 public:
  std::int64_t add(std::int64_t feature, double split, Comparison how) {
    if (static_cast<std::int64_t>(feature_.size()) >= kMostNodes)
      throw OpError(ErrorKind::Value, "the trees have more than " + std::to_string(kMostNodes) + " nodes");
    const auto self = static_cast<std::int64_t>(feature_.size());
    feature_.push_back(feature);
    split_.push_back(static_cast<float>(split));
    how_.push_back(how);
    first_.push_back(self);
    second_.push_back(self);
    return self;
  }
  std::int64_t add_leaf() { return add(0, 0, {}); }
  void set_branches(std::int64_t node, std::int64_t first, std::int64_t second) {
    first_[at(node)] = first;
    second_[at(node)] = second;
  }
  void add_root(std::int64_t node) { roots_.push_back(node); }
  std::int64_t size() const { return static_cast<std::int64_t>(feature_.size()); }
  std::int64_t trees() const { return static_cast<std::int64_t>(roots_.size()); }

  // The leaves that rows of features [n, features] reach, one of each tree: i64[n * trees].
  Tensor leaves(Call& call, const Tensor& x) const {
    const std::int64_t depth = depth_of(call);
    const Tensor feature = whole_numbers(feature_), first = whole_numbers(first_),
                 second = whole_numbers(second_);
    const Tensor split = ops::to(real_numbers(split_), x.dtype());
    const auto outcomes = [this](bool Comparison::* of) {
      std::vector<std::int64_t> flags;
      for (const Comparison& each : how_) flags.push_back(each.*of ? 1 : 0);
      return ops::to(whole_numbers(flags), DType::Bool);
    };
    const Tensor less = outcomes(&Comparison::less), equal = outcomes(&Comparison::equal),
                 greater = outcomes(&Comparison::greater), missing = outcomes(&Comparison::missing);
    const Dims each_row{x.size(0), trees()};
    Tensor node = ops::reshape(ops::expand(whole_numbers(roots_), each_row), Dims{x.size(0) * trees()});
    for (std::int64_t level = 0; level < depth; ++level) {
      const auto of_node = [&node](const Tensor& table) { return ops::index_select(table, 0, node); };
      const Tensor columns = ops::reshape(of_node(feature), each_row);
      const Tensor value = ops::reshape(ops::gather(x, 1, columns), node.sizes());
      const Tensor against = of_node(split);
      const auto holds = [](const Tensor& outcome, const Tensor& wanted) {
        return ops::logical_and(outcome, wanted);
      };
      Tensor goes_first = holds(ops::lt(value, against), of_node(less));
      goes_first = ops::logical_or(goes_first, holds(ops::eq(value, against), of_node(equal)));
      goes_first = ops::logical_or(goes_first, holds(ops::gt(value, against), of_node(greater)));
      goes_first = ops::logical_or(goes_first, holds(ops::isnan(value), of_node(missing)));
      node = ops::where(goes_first, of_node(first), of_node(second));
    }
    return node;
  }

 private:
  static std::size_t at(std::int64_t node) { return static_cast<std::size_t>(node); }

  // Of the deepest leaf. Throws OpError (Value) where nodes are no trees.
  std::int64_t depth_of(Call& call) const {
    std::int64_t deepest = 0, visited = 0;
    std::vector<std::pair<std::int64_t, std::int64_t>> open;
    for (const std::int64_t root : roots_) open.emplace_back(root, 0);
    while (!open.empty()) {
      const auto [node, depth] = open.back();
      open.pop_back();
      deepest = std::max(deepest, depth);
      if (++visited > 2 * size() + trees() || depth > size()) call.refuse("has nodes that are no trees");
      if (first_[at(node)] == node && second_[at(node)] == node) continue;
      open.emplace_back(first_[at(node)], depth + 1);
      open.emplace_back(second_[at(node)], depth + 1);
    }
    return deepest;
  }

  std::vector<std::int64_t> feature_, first_, second_, roots_;
  std::vector<float> split_;
  std::vector<Comparison> how_;
};

// What the leaves add to each target.
class Votes {
 public:
  Votes(std::int64_t nodes, std::int64_t targets, std::string how)
      : nodes_(nodes),
        targets_(targets),
        how_(std::move(how)),
        table_(static_cast<std::size_t>(nodes * targets), nothing()) {}

  void add(std::int64_t node, std::int64_t target, float weight) {
    float& vote = table_[static_cast<std::size_t>(node * targets_ + target)];
    vote = how_ == "MIN" ? std::min(vote, weight) : how_ == "MAX" ? std::max(vote, weight) : vote + weight;
  }
  // [n, targets] from the leaves [n * trees].
  Tensor counted(const Tensor& leaves, std::int64_t trees, DType dtype) const {
    const Tensor table = ops::to(ops::reshape(real_numbers(table_), Dims{nodes_, targets_}), dtype);
    const Tensor each = ops::reshape(ops::index_select(table, 0, leaves), Dims{-1, trees, targets_});
    const Dims over{1};
    if (how_ == "MIN") return ops::amin(each, over);
    if (how_ == "MAX") return ops::amax(each, over);
    const Tensor total = ops::sum(each, over);
    return how_ == "AVERAGE" ? total / static_cast<double>(trees) : total;
  }

 private:
  float nothing() const {
    return how_ == "MIN"   ? std::numeric_limits<float>::max()
           : how_ == "MAX" ? std::numeric_limits<float>::lowest()
                           : 0;
  }
  std::int64_t nodes_, targets_;
  std::string how_;
  std::vector<float> table_;
};

// ---- Attributes ----

std::vector<std::int64_t> wholes(Call& call, std::string_view name) {
  const AttributeProto* given = call.attribute(name);
  return given != nullptr ? given->ints : std::vector<std::int64_t>();
}
// Numbers of an attribute, which is a tensor in later versions.
std::vector<double> numbers(Call& call, const std::string& name) {
  if (const Tensor table = call.tensor(name)) {
    const HostView elements(table, DType::F64);
    return {elements.as<double>(), elements.as<double>() + table.numel().known()};
  }
  if (const Tensor table = call.tensor(name + "_as_tensor")) {
    const HostView elements(table, DType::F64);
    return {elements.as<double>(), elements.as<double>() + table.numel().known()};
  }
  const std::vector<float> given = call.reals(name).value_or(std::vector<float>());
  return {given.begin(), given.end()};
}

void need(Call& call, bool holds) {
  if (!holds) call.refuse("has attributes of lengths or numbers that do not fit each other");
}

Tensor table_of(Call& call) {
  const Tensor x = call.x(0);
  const Tensor numbers = x.dtype() == DType::F64 ? x : ops::to(x, DType::F32);
  if (x.rank() != 1 && x.rank() != 2) call.refuse("needs rows of features, got " + to_string(x.type()));
  return x.rank() == 1 ? ops::unsqueeze(numbers, 0) : numbers;
}

Tensor finished(Call& call, const std::string& name, const Tensor& scores) {
  if (name == "NONE") return scores;
  if (name == "LOGISTIC") return ops::sigmoid(scores);
  if (name == "SOFTMAX") return ops::softmax(scores, 1);
  call.refuse("has the transform " + name + " of its scores, which Kiln does not know");
}

// ---- TreeEnsemble ----

// A node that asks for one of several numbers is a chain of nodes that ask for each of them.
std::int64_t add_node(Call& call, Forest& forest, std::int64_t mode, std::int64_t feature, double split,
                      bool missing, std::span<const double> members, std::vector<std::int64_t>& chain) {
  constexpr const char* kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                    "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  constexpr std::int64_t kMember = 6;
  need(call, mode >= 0 && mode <= kMember);
  chain.clear();
  if (mode != kMember) {
    chain.push_back(forest.add(feature, split, comparison_of(call, kModes[mode], missing)));
    return chain[0];
  }
  for (const double each : members)
    chain.push_back(forest.add(feature, each, {false, true, false, missing && chain.empty()}));
  if (chain.empty()) chain.push_back(forest.add(feature, 0, {false, false, false, missing}));
  return chain[0];
}

// The next members of a set, which end with a nan.
std::span<const double> next_members(std::span<const double>& left) {
  std::size_t count = 0;
  while (count < left.size() && !std::isnan(left[count])) ++count;
  const std::span<const double> members = left.first(count);
  left = left.subspan(std::min(count + 1, left.size()));
  return members;
}

Values tree_ensemble(Call& call) {
  const Tensor x = table_of(call);
  const std::vector<std::int64_t> features = wholes(call, "nodes_featureids"),
                                  first = wholes(call, "nodes_truenodeids"),
                                  second = wholes(call, "nodes_falsenodeids"),
                                  first_is_leaf = wholes(call, "nodes_trueleafs"),
                                  second_is_leaf = wholes(call, "nodes_falseleafs"),
                                  targets = wholes(call, "leaf_targetids"),
                                  roots = wholes(call, "tree_roots");
  std::vector<std::int64_t> missing = wholes(call, "nodes_missing_value_tracks_true");
  const std::vector<double> splits = numbers(call, "nodes_splits"), modes = numbers(call, "nodes_modes"),
                            weights = numbers(call, "leaf_weights"),
                            members = numbers(call, "membership_values");
  const std::size_t count = features.size();
  missing.resize(count, 0);
  for (const std::size_t each : {first.size(), second.size(), first_is_leaf.size(), second_is_leaf.size(),
                                 splits.size(), modes.size()})
    need(call, each == count);
  need(call, targets.size() == weights.size() && !roots.empty());
  Forest forest;
  std::vector<std::vector<std::int64_t>> chains(count);
  std::span<const double> left = members;
  for (std::size_t i = 0; i < count; ++i) {
    const auto mode = static_cast<std::int64_t>(modes[i]);
    const std::span<const double> own = mode == 6 ? next_members(left) : std::span<const double>();
    add_node(call, forest, mode, features[i], splits[i], missing[i] != 0, own, chains[i]);
  }
  std::vector<std::int64_t> leaves;
  for (std::size_t i = 0; i < targets.size(); ++i) leaves.push_back(forest.add_leaf());
  const auto target = [&](std::int64_t id, bool is_leaf) {
    const auto at = static_cast<std::size_t>(id);
    need(call, id >= 0 && at < (is_leaf ? leaves.size() : count));
    return is_leaf ? leaves[at] : chains[at][0];
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t yes = target(first[i], first_is_leaf[i] != 0),
                       no = target(second[i], second_is_leaf[i] != 0);
    for (std::size_t k = 0; k < chains[i].size(); ++k)
      forest.set_branches(chains[i][k], yes, k + 1 < chains[i].size() ? chains[i][k + 1] : no);
  }
  for (const std::int64_t each : roots) forest.add_root(target(each, false));
  constexpr const char* kHow[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  constexpr const char* kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const std::int64_t how = call.integer("aggregate_function", 1),
                     transform = call.integer("post_transform", 0),
                     target_count = call.integer("n_targets", 1);
  need(call, how >= 0 && how < 4 && transform >= 0 && transform < 5 && target_count > 0);
  Votes votes(forest.size(), target_count, kHow[how]);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    need(call, targets[i] >= 0 && targets[i] < target_count);
    votes.add(leaves[i], targets[i], static_cast<float>(weights[i]));
  }
  return {finished(call, kTransforms[transform],
                   votes.counted(forest.leaves(call, x), forest.trees(), x.dtype()))};
}

// ---- TreeEnsembleRegressor, TreeEnsembleClassifier ----

using NodeName = std::pair<std::int64_t, std::int64_t>;  // of a tree, the node

struct NamedForest {
  Forest forest;
  std::map<NodeName, std::int64_t> nodes;
};

NamedForest named_forest(Call& call) {
  const std::vector<std::int64_t> trees = wholes(call, "nodes_treeids"), ids = wholes(call, "nodes_nodeids"),
                                  features = wholes(call, "nodes_featureids"),
                                  first = wholes(call, "nodes_truenodeids"),
                                  second = wholes(call, "nodes_falsenodeids");
  std::vector<std::int64_t> missing = wholes(call, "nodes_missing_value_tracks_true");
  const std::vector<std::string> modes = call.words("nodes_modes");
  const std::vector<double> splits = numbers(call, "nodes_values");
  const std::size_t count = ids.size();
  missing.resize(count, 0);
  for (const std::size_t each :
       {trees.size(), features.size(), first.size(), second.size(), modes.size(), splits.size()})
    need(call, each == count);
  NamedForest made;
  std::map<std::int64_t, std::int64_t> roots;  // the first node of each tree
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t node =
        modes[i] == "LEAF"
            ? made.forest.add_leaf()
            : made.forest.add(features[i], splits[i], comparison_of(call, modes[i], missing[i] != 0));
    need(call, made.nodes.emplace(NodeName{trees[i], ids[i]}, node).second);
    roots.try_emplace(trees[i], node);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (modes[i] == "LEAF") continue;
    const auto yes = made.nodes.find({trees[i], first[i]}), no = made.nodes.find({trees[i], second[i]});
    need(call, yes != made.nodes.end() && no != made.nodes.end());
    made.forest.set_branches(made.nodes.at({trees[i], ids[i]}), yes->second, no->second);
  }
  for (const auto& [tree, node] : roots) made.forest.add_root(node);
  need(call, !roots.empty());
  return made;
}

struct Outcome {
  Tensor scores;  // [n, targets]
  Tensor counts;  // bool[n, targets]: a leaf voted for it, or all have base values
};
// `kind` begins the names of the attributes.
Outcome outcome_of(Call& call, const std::string& kind, std::int64_t targets, const std::string& how) {
  const Tensor x = table_of(call);
  const NamedForest trees = named_forest(call);
  const std::vector<std::int64_t> of_tree = wholes(call, kind + "_treeids"),
                                  of_node = wholes(call, kind + "_nodeids"),
                                  ids = wholes(call, kind + "_ids");
  const std::vector<double> weights = numbers(call, kind + "_weights"), base = numbers(call, "base_values");
  need(call, of_tree.size() == ids.size() && of_node.size() == ids.size() && weights.size() == ids.size());
  need(call, targets > 0 && (base.empty() || static_cast<std::int64_t>(base.size()) == targets));
  Votes votes(trees.forest.size(), targets, how), marks(trees.forest.size(), targets, "SUM");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto leaf = trees.nodes.find({of_tree[i], of_node[i]});
    need(call, leaf != trees.nodes.end() && ids[i] >= 0 && ids[i] < targets);
    votes.add(leaf->second, ids[i], static_cast<float>(weights[i]));
    marks.add(leaf->second, ids[i], 1);
  }
  const Tensor leaves = trees.forest.leaves(call, x);
  const Tensor scores = votes.counted(leaves, trees.forest.trees(), x.dtype());
  if (base.empty()) {
    const Tensor count = marks.counted(leaves, trees.forest.trees(), DType::F32);
    return {ops::to(scores, DType::F32), ops::gt(count, scalar(0, DType::F32))};
  }
  const std::vector<float> added(base.begin(), base.end());
  const Tensor all = ops::to(scores + ops::to(real_numbers(added), x.dtype()), DType::F32);
  return {all, ops::to(ops::ones_like(all), DType::Bool)};
}

Values tree_regressor(Call& call) {
  const Outcome made =
      outcome_of(call, "target", call.integer("n_targets", 1), call.word("aggregate_function", "SUM"));
  return {finished(call, call.word("post_transform", "NONE"), made.scores)};
}

// The label of the largest score among classes with a vote, and the scores.
Values tree_classifier(Call& call) {
  if (!call.words("classlabels_strings").empty())
    call.refuse("has strings as labels, and Kiln has no tensors of strings");
  const std::vector<std::int64_t> labels = wholes(call, "classlabels_int64s"),
                                  ids = wholes(call, "class_ids");
  const bool is_single =
      std::all_of(ids.begin(), ids.end(), [&ids](std::int64_t each) { return each == ids[0]; });
  if (is_single)
    call.refuse("votes for one of its classes alone, and runtimes differ in what the other one gets");
  const Outcome made = outcome_of(call, "class", static_cast<std::int64_t>(labels.size()), "SUM");
  const Tensor lowest = scalar(-std::numeric_limits<double>::infinity(), DType::F32);
  const Tensor best = apply("argmax", {ops::where(made.counts, made.scores, lowest)}, {{"dim", Dim(1)}});
  return {ops::index_select(whole_numbers(labels), 0, best),
          finished(call, call.word("post_transform", "NONE"), made.scores)};
}

constexpr Operator kTreesOperators[] = {
    {"TreeEnsemble", tree_ensemble, kDomain},
    {"TreeEnsembleClassifier", tree_classifier, kDomain},
    {"TreeEnsembleRegressor", tree_regressor, kDomain},
};

}  // namespace

std::span<const Operator> tree_operators() { return kTreesOperators; }

}  // namespace kiln::onnx

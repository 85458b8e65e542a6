// Before kernels are found: a view of what is computed, read by what kernels compute, becomes the same
// computation of views of its operands. Those are index maps of loads, so that a reshape between two
// elementwise ops does not keep them apart. What others read too is computed again where a kernel reads both
// it and a small part of it, as `x - x[:, :1]` does: through memory the part would keep that kernel from the
// one that computes x.
#include <algorithm>
#include <map>
#include <optional>

#include "jit/graph/layouts.h"
#include "jit/graph/rewrite.h"
#include "jit/passes/lowerable.h"
#include "jit/passes/passes.h"
#include "jit/shape_rules.h"
#include "tensor/core_ops.h"
#include "tensor/ops/pointwise.h"

namespace kiln::jit {
namespace {

// From the sizes of what is computed to those of the view: broadcasts and views, in order.
struct Step {
  const Op* op = nullptr;  // null: a broadcast
  std::vector<Attr> attrs;
  Dims sizes;  // that it gives
};
using Chain = std::vector<Step>;

class Lifter {
 public:
  explicit Lifter(const Graph& graph)
      : graph_(graph), producers_(graph.producers()), readers_(graph.values.size()), rewriter_(graph) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const Operand& each : graph.nodes[n].operands) read(each.value, static_cast<int>(n));
    }
    for (const Operand& each : graph.outputs) read(each.value, kOutside);
    for (const Effect& each : graph.effects) read(each.value, kOutside);
    for (const ValueId id : graph.saved) read(id, kOutside);
  }

  // Nothing where no view moves.
  std::optional<Graph> run() {
    std::vector<std::optional<Lift>> lifts(graph_.nodes.size());
    bool any = false;
    for (std::size_t n = 0; n < lifts.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.is_view() && node.outputs.size() == 1) lifts[n] = lift_of(node);
      any = any || lifts[n];
    }
    if (!any) return std::nullopt;
    for (std::size_t n = 0; n < lifts.size(); ++n) {
      rewriter_.copy(graph_.nodes[n]);
      if (!lifts[n]) continue;
      lifted_.clear();
      const Lift& lift = *lifts[n];
      rewriter_.map(graph_.nodes[n].outputs[0], lifted(lift.base, lift.chain, lift.again));
    }
    return rewriter_.finish();
  }

 private:
  static constexpr int kOutside = -1;

  void read(ValueId id, int reader) {
    if (id < 0) return;
    std::vector<int>& readers = readers_[static_cast<std::size_t>(id)];
    if (readers.empty() || readers.back() != reader) readers.push_back(reader);
  }
  const Type& type(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)].type; }
  const Node* producer(ValueId id) const {
    const int place = producers_[static_cast<std::size_t>(id)];
    return place < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(place)];
  }
  std::int64_t count(ValueId id) const { return count_elements(evaluate(type(id).sizes, graph_.hints)); }
  bool is_lowered(int place) const {
    if (place == kOutside) return false;
    const Node& node = graph_.nodes[static_cast<std::size_t>(place)];
    return why_not_lowered(graph_, node).empty() && !is_gather_load(graph_, node);
  }

  // A view as the views of what the base is computed from. `again`: others read that as well.
  struct Lift {
    ValueId base;
    Chain chain;
    bool again;
  };
  std::optional<Lift> lift_of(const Node& view) const {
    const ValueId shown = view.outputs[0];
    const std::vector<int>& readers = readers_[static_cast<std::size_t>(shown)];
    const bool for_kernels =
        !readers.empty() &&
        std::all_of(readers.begin(), readers.end(), [this](int reader) { return is_lowered(reader); });
    if (!for_kernels || type(shown).sizes.empty()) return std::nullopt;
    for (const bool again : {false, true}) {
      Chain chain;
      const ValueId base = base_of(shown, chain, again);
      if (base < 0 || !moves(base, again) || count(shown) > count(base) || !may_lift(base, chain, again))
        continue;
      if (!again || is_small_part(shown, base)) return Lift{base, std::move(chain), again};
    }
    return std::nullopt;
  }
  // Few elements of the base, for a kernel that reads all of them.
  bool is_small_part(ValueId shown, ValueId base) const {
    constexpr std::int64_t kFew = 16;
    if (count(shown) > count(base) / kFew) return false;
    const std::vector<int>& readers = readers_[static_cast<std::size_t>(shown)];
    const std::vector<int>& others = readers_[static_cast<std::size_t>(base)];
    return std::any_of(readers.begin(), readers.end(), [&](int reader) {
      return std::find(others.begin(), others.end(), reader) != others.end();
    });
  }
  bool is_alone(ValueId id) const { return readers_[static_cast<std::size_t>(id)].size() == 1; }

  // What the views up to `id` show, where nothing else reads them on the way; -1 where something does.
  ValueId base_of(ValueId id, Chain& chain, bool again) const {
    const Node* node = producer(id);
    if (node == nullptr || !node->is_view() || node->op->view_dtype != nullptr) return id;
    const ValueId source = node->operands[0].value;
    if (!(again || is_alone(source)) || node->outputs.size() != 1 || node->op->has(kCountsPlaces)) return -1;
    const ValueId base = base_of(source, chain, again);
    chain.push_back({node->op, node->attrs, type(id).sizes});
    return base;
  }

  // Is the value computed for this one reader, element by element, whatever its elements are?
  bool moves(ValueId id, bool again) const {
    const Node* node = producer(id);
    if (node == nullptr || type(id).sizes.empty() || !(again || is_alone(id))) return false;
    if (!why_not_lowered(graph_, *node).empty() || node->op->lowering != Lowering::Pointwise) return false;
    return node->op->pointwise == nullptr || node->op->pointwise->failure.empty();
  }

  // The chain behind a broadcast to what is computed from the operand; a 0-d tensor stays what it is.
  Chain chain_of(ValueId operand, ValueId computed, const Chain& chain) const {
    const Dims& sizes = type(computed).sizes;
    Chain whole;
    if (!same(type(operand).sizes, sizes)) whole.push_back({nullptr, {sizes}, sizes});
    whole.insert(whole.end(), chain.begin(), chain.end());
    return whole;
  }

  // No operand has to be laid out anew, and at most one is read across its rows.
  bool may_lift(ValueId base, const Chain& chain, bool again) const {
    std::vector<std::pair<ValueId, Chain>> leaves;
    if (!collect(base, chain, again, leaves)) return false;
    const AssumedScope scope(graph_);
    std::int64_t across = 0;
    for (const auto& [id, whole] : leaves) {
      const auto layout = layout_through(id, whole);
      if (!layout || !scope.asked_nothing()) return false;
      if (layout->strides.back().hint() > 1) ++across;
    }
    return across <= 1;
  }
  // False where there are more of them than is worth a look.
  bool collect(ValueId computed, const Chain& chain, bool again,
               std::vector<std::pair<ValueId, Chain>>& leaves) const {
    constexpr std::size_t kMost = 64;
    for (const Operand& each : producer(computed)->operands) {
      if (!each.is_value() || type(each.value).sizes.empty()) continue;
      Shown shown = origin_of(each.value, computed, chain, again);
      if (shown.is_lifted) {
        if (!collect(shown.value, shown.chain, again, leaves)) return false;
      } else {
        leaves.emplace_back(shown.value, std::move(shown.chain));
      }
      if (again && leaves.size() > kMost) return false;
    }
    return true;
  }
  // Where what an operand shows through the chain comes from: a value that is lifted too, or one in memory.
  // What broadcasts would be computed again for each element.
  struct Shown {
    ValueId value;
    Chain chain;
    bool is_lifted;
  };
  Shown origin_of(ValueId operand, ValueId computed, const Chain& chain, bool again) const {
    Chain whole = chain_of(operand, computed, chain), views;
    const bool may_move = (again || is_alone(operand)) && same(type(operand).sizes, type(computed).sizes);
    const ValueId base = may_move ? base_of(operand, views, again) : -1;
    if (base < 0 || !moves(base, again)) return {operand, std::move(whole), false};
    views.insert(views.end(), whole.begin(), whole.end());
    return {base, std::move(views), true};
  }
  std::optional<Layout> layout_through(ValueId id, const Chain& chain) const {
    try {
      Layout layout = layout_of(graph_, producers_, id);
      for (const Step& each : chain) {
        layout = each.op == nullptr ? broadcast_layout(layout, each.sizes)
                                    : each.op->view(layout, to_attrs(*each.op, each.attrs)).front();
      }
      return layout;
    } catch (const OpError&) {
      return std::nullopt;
    }
  }

  // The elements of what is computed that the chain shows.
  ValueId lifted(ValueId computed, const Chain& chain, bool again) {
    // What others read may be seen through several chains: what is made twice becomes one later.
    if (const auto found = lifted_.find(computed); !again && found != lifted_.end()) return found->second;
    const Node& node = *producer(computed);
    Node made = node;
    for (Operand& each : made.operands) {
      if (!each.is_value()) continue;
      if (type(each.value).sizes.empty()) {
        each = rewriter_.at(each);
      } else {
        const Shown shown = origin_of(each.value, computed, chain, again);
        each = Operand::of(shown.is_lifted ? lifted(shown.value, shown.chain, again)
                                           : viewed(shown.value, shown.chain, node));
      }
    }
    const std::string& name = graph_.values[static_cast<std::size_t>(computed)].name;
    const Type known = shown_type(computed, chain.back().sizes);
    return lifted_[computed] = rewriter_.append(std::move(made), {known}, {&name, 1})[0];
  }
  ValueId viewed(ValueId id, const Chain& chain, const Node& like) {
    static const Op& expand = core_ops().expand;
    ValueId now = rewriter_.at(id);
    for (const Step& each : chain) {
      Node node;
      node.op = each.op == nullptr ? &expand : each.op;
      node.attrs = each.attrs;
      node.operands = {Operand::of(now)};
      node.place = like.place;
      node.origin = like.origin;
      now = rewriter_.append(std::move(node), {shown_type(id, each.sizes)})[0];
    }
    return now;
  }
  Type shown_type(ValueId id, const Dims& sizes) const {
    Type made = type(id);
    made.sizes = sizes;
    made.strides.reset();
    return made;
  }

  const Graph& graph_;
  std::vector<int> producers_;
  std::vector<std::vector<int>> readers_;  // nodes, and the graph's caller
  std::map<ValueId, ValueId> lifted_;  // of one lift: each has one reader, which sees it through one chain
  Rewriter rewriter_;
};

}  // namespace

Graph lift_views(Graph graph) {
  std::optional<Graph> made = Lifter(graph).run();
  return dce(cse(made ? std::move(*made) : std::move(graph)));  // one load of what is viewed alike
}

}  // namespace kiln::jit

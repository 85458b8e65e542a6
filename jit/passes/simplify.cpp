// Before cse, which finds more that is equal once the detours are gone.
#include <algorithm>

#include "jit/graph/escape_analysis.h"
#include "jit/graph/layouts.h"
#include "jit/graph/rewrite.h"
#include "jit/passes/identities.h"
#include "jit/passes/passes.h"

namespace kiln::jit {
namespace {

// Walks the nodes in order; works on the graph itself, whose values keep their numbers.
class Simplifier {
 public:
  explicit Simplifier(Graph graph)
      : graph_(std::move(graph)),
        producers_(graph_.producers()),
        escapes_(graph_),
        layout_matters_(graph_.values.size(), false),
        storage_matters_(graph_.values.size(), false),
        instead_(graph_.values.size(), Operand::kAbsent) {
    note_layouts();
    note_storages();
  }

  Graph run() {
    for (Node& node : graph_.nodes) {
      for (Operand& each : node.operands) {
        if (each.is_value()) each.value = now(each.value);
      }
      if (node.is_constant() || node.form != Form::Plain || node.outputs.size() != 1) continue;
      if (must_run(graph_, node)) continue;
      if (node.is_view()) {
        simplify_view(node);
      } else {
        skip_overwritten(node);
        replace(node.outputs[0], same_elements(Site{graph_, producers_, node}));
      }
    }
    return rebuilt();
  }

 private:
  ValueId now(ValueId id) const {
    const ValueId other = instead_[static_cast<std::size_t>(id)];
    return other == Operand::kAbsent ? id : other;
  }
  const Type& type(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)].type; }
  const Node* maker(ValueId id) const {
    const int place = producers_[static_cast<std::size_t>(id)];
    return place < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(place)];
  }

  static bool same_type(const Type& a, const Type& b) {
    return a.dtype == b.dtype && a.device == b.device && a.is_number == b.is_number && same(a.sizes, b.sizes);
  }

  // The layout of a value matters to its views, and to the caller who gets it. A value that is written to an
  // argument has no layout that the caller sees.
  void note_layouts() {
    const auto set = [this](ValueId id, bool matters) {
      layout_matters_[static_cast<std::size_t>(id)] = matters;
    };
    for (const Operand& each : graph_.outputs) {
      if (each.is_value()) set(each.value, true);
    }
    for (const Effect& each : graph_.effects) set(each.value, false);
    for (const Effect& each : graph_.effects) {
      if (each.kind != Effect::Kind::Write) set(each.value, true);
    }
    for (const Node& node : graph_.nodes) {
      if (!may_share_operand(node) && node.form == Form::Plain) continue;
      for (const Operand& each : node.operands) {
        if (each.is_value()) set(each.value, true);
      }
    }
  }
  // `as_strided` counts places of the storage. Without a copy that is another storage, in which an input may
  // begin anywhere.
  void note_storages() {
    const auto matters = [this](ValueId id) { return storage_matters_[static_cast<std::size_t>(id)]; };
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      const Node& node = graph_.nodes[i];
      if (node.is_constant()) continue;
      const bool passed_on =
          may_share_operand(node) && std::any_of(node.outputs.begin(), node.outputs.end(), matters);
      if (!passed_on && !node.op->has(kCountsPlaces)) continue;
      for (const Operand& each : node.operands) {
        if (each.is_value()) storage_matters_[static_cast<std::size_t>(each.value)] = true;
      }
    }
  }

  Layout layout(ValueId id) const { return layout_of(graph_, producers_, id); }
  bool same_layout(ValueId a, ValueId b) const {
    return same_layouts(graph_, [&] { return layout(a); }, [&] { return layout(b); });
  }

  // Replaces uses of `id` by uses of `other`, which has the same elements, if no difference can be seen.
  bool replace(ValueId id, ValueId other, bool known_to_lie_alike = false) {
    if (other < 0) return false;
    if (!same_type(type(id), type(other)) || !escapes_.may_replace(id, other)) return false;
    const bool stays =
        storage_matters_[static_cast<std::size_t>(id)] && !escapes_.may_share_memory(id, other);
    if (stays) return false;
    const bool layout_matters = layout_matters_[static_cast<std::size_t>(id)] && !known_to_lie_alike;
    if (layout_matters && !same_layout(id, other)) return false;
    escapes_.replace(id, other);
    instead_[static_cast<std::size_t>(id)] = other;
    take_name(id, other);
    return true;
  }
  void take_name(ValueId from, ValueId to) {
    std::string& name = graph_.values[static_cast<std::size_t>(from)].name;
    std::string& free = graph_.values[static_cast<std::size_t>(to)].name;
    if (free.empty()) free = std::exchange(name, {});
  }

  // ---- Views ----

  using Chain = std::vector<const Node*>;  // the last view first
  static bool keeps_gradient(const Node* node) {
    return node != nullptr && node->is_view() && !node->op->has(kStopsGradient) &&
           !node->op->has(kCountsPlaces) && node->op->view_dtype == nullptr;
  }
  // The layout at the end of the chain, from a tensor with this layout.
  Layout along(const Chain& chain, Layout layout, ValueId result) const {
    for (std::size_t i = chain.size(); i-- > 0;) {
      const ValueId id = i == 0 ? result : chain[i - 1]->operands[0].value;
      const std::vector<Layout> layouts =
          chain[i]->op->view(layout, to_attrs(*chain[i]->op, chain[i]->attrs));
      layout = layouts[static_cast<std::size_t>(id - chain[i]->outputs[0])];
    }
    return layout;
  }
  // The layout that the value has, spread: what leads to the same place from there does so from everywhere,
  // unless it counts places.
  Layout spread(ValueId id) const {
    Layout spread = layout(id);
    for (Dim& stride : spread.strides) stride *= 2;
    spread.offset = 2 * spread.offset + 3;
    return spread;
  }

  // Views of what is written back are views of the caller's tensor: no way leads around it.
  bool becomes_argument(const std::vector<ValueId>& values) const {
    return std::any_of(graph_.effects.begin(), graph_.effects.end(), [&](const Effect& each) {
      return std::find(values.begin(), values.end(), now(each.value)) != values.end();
    });
  }

  // A chain of views that leads back to where it was is nothing; one view of a kind after another is often
  // the last of them alone.
  void simplify_view(Node& node) {
    const ValueId result = node.outputs[0];
    if (node.op->identity.kind != Identity::Kind::None && !escapes_.is_reachable(result) &&
        replace(result, same_elements(Site{graph_, producers_, node})))
      return;
    Chain chain;
    for (const Node* view = &node; keeps_gradient(view); view = maker(view->operands[0].value)) {
      if (view != &node && becomes_argument(view->outputs)) break;
      chain.push_back(view);
      const ValueId source = view->operands[0].value;
      const auto there = [&] { return spread(source); };
      const auto and_back = [&] { return along(chain, spread(source), result); };
      if (same(type(source).sizes, type(result).sizes) && same_layouts(graph_, there, and_back) &&
          replace(result, source, true))
        return;
    }
    const Node* before = node.operands[0].is_value() ? maker(node.operands[0].value) : nullptr;
    if (before == nullptr) return;
    const bool reads_scatter = is_scatter_of(*before, node) && !escapes_.is_reachable(result);
    if (reads_scatter && replace(result, before->operands[1].value)) return;
    const bool again = chain.size() > 1 && before->op == node.op && node.op->outputs == 1;
    if (again) skip_same_view(node, {chain[0], chain[1]});
  }

  void skip_same_view(Node& node, const Chain& both) {
    const ValueId source = both[1]->operands[0].value;
    const auto through = [&] { return along(both, spread(source), node.outputs[0]); };
    const auto directly = [&] {
      return node.op->view(spread(source), to_attrs(*node.op, node.attrs)).front();
    };
    if (same_layouts(graph_, through, directly)) node.operands[0] = both[1]->operands[0];
  }

  // What one scatter put there, the next one overwrites.
  void skip_overwritten(Node& node) {
    if (node.op->lowering != Lowering::Scatter || !node.operands[0].is_value()) return;
    const Node* before = maker(node.operands[0].value);
    if (before == nullptr || before->op != node.op || !same_attrs(before->attrs, node.attrs)) return;
    if (view_undone_by(*node.op) != nullptr) node.operands[0] = before->operands[0];
  }
  Graph rebuilt() {
    const bool none =
        std::all_of(instead_.begin(), instead_.end(), [](ValueId each) { return each == Operand::kAbsent; });
    if (none && is_in_order(graph_)) return std::move(graph_);
    Rewriter rewriter(graph_);
    for (const Node& node : graph_.nodes) {
      const bool replaced = node.outputs.size() == 1 && now(node.outputs[0]) != node.outputs[0];
      if (replaced) {
        rewriter.map(node.outputs[0], rewriter.at(now(node.outputs[0])));
      } else {
        rewriter.copy(node);
      }
    }
    return rewriter.finish();
  }

  Graph graph_;
  std::vector<int> producers_;
  EscapeAnalysis escapes_;
  std::vector<bool> layout_matters_, storage_matters_;
  std::vector<ValueId> instead_;
};

}  // namespace

Graph simplify(Graph graph) {
  if (graph.stage == Stage::Captured) return graph;  // a value may be written between two reads
  return Simplifier(std::move(graph)).run();
}

}  // namespace kiln::jit

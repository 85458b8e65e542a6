// Before kernels are found: what is written to a part of an argument alone need not be put into a copy of all
// of it. The last pass that changes effects, since the others know arguments as targets, not views of them.
#include <algorithm>
#include <optional>

#include "jit/graph/layouts.h"
#include "jit/graph/rewrite.h"
#include "jit/passes/lowerable.h"
#include "jit/passes/passes.h"

namespace kiln::jit {
namespace {

// A larger part is stored among a copy of the rest, which then becomes the argument's memory: each element is
// written once, not twice.
constexpr std::int64_t kLargestShare = 2;

class Narrower {
 public:
  explicit Narrower(const Graph& graph)
      : graph_(graph), producers_(graph.producers()), reads_(graph.values.size(), 0) {
    const auto read = [this](ValueId id) {
      if (id >= 0) ++reads_[static_cast<std::size_t>(id)];
    };
    for (const Node& node : graph.nodes) {
      for (const Operand& each : node.operands) read(each.value);
    }
    for (const Operand& each : graph.outputs) read(each.value);
    for (const Effect& each : graph.effects) read(each.value);
    std::for_each(graph.saved.begin(), graph.saved.end(), read);
  }

  // Nothing where all writes stay what they are.
  std::optional<Graph> run() {
    std::vector<Part> parts;
    bool any = false;
    for (const Effect& each : graph_.effects) {
      parts.push_back(part_of(each));
      any = any || !parts.back().scatters.empty();
    }
    if (!any) return std::nullopt;
    Rewriter rewriter(graph_);
    for (const Node& node : graph_.nodes) rewriter.copy(node);
    std::vector<Effect> effects;
    for (std::size_t i = 0; i < parts.size(); ++i)
      effects.push_back(narrowed(rewriter, graph_.effects[i], parts[i]));
    Graph made = rewriter.finish();
    made.effects = std::move(effects);
    made.stage = Stage::Fused;  // whose effects may be on views
    return made;
  }

 private:
  // What is put into the argument, by scatters from the outermost one on; none where all of it is.
  struct Part {
    std::vector<const Node*> scatters;
    ValueId value;
  };

  const Type& type(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)].type; }
  std::int64_t count(ValueId id) const { return count_elements(evaluate(type(id).sizes, graph_.hints)); }

  // The scatter that makes a value which nothing else reads.
  const Node* scatter(ValueId id) const {
    const int place = producers_[static_cast<std::size_t>(id)];
    if (place < 0 || reads_[static_cast<std::size_t>(id)] != 1) return nullptr;
    const Node& node = graph_.nodes[static_cast<std::size_t>(place)];
    return placed_view(graph_, node) != nullptr ? &node : nullptr;
  }

  static Layout view_of(const Node& scatter, const Layout& around) {
    const Op& view = *view_undone_by(*scatter.op);
    return view.view(around, to_attrs(view, scatter.attrs)).front();
  }

  Part part_of(const Effect& effect) const {
    const Part whole{{}, effect.value};
    if (effect.kind != Effect::Kind::Write || effect.member >= 0) return whole;
    Part part = whole;
    while (const Node* next = scatter(part.value)) {
      const ValueId around = next->operands[0].value;
      if (memory_of(around) != effect.input || !is_view_by(part.scatters, effect.input, around)) break;
      part.scatters.push_back(next);
      part.value = next->operands[1].value;
    }
    const bool gains = type(part.value).dtype == type(effect.value).dtype &&
                       count(part.value) * kLargestShare <= count(effect.value);
    return gains ? part : whole;
  }
  // Is `around` the part of the argument that the scatters so far replace?
  bool is_view_by(const std::vector<const Node*>& scatters, ValueId argument, ValueId around) const {
    const auto replaced = [&] {
      Layout layout = layout_of(graph_, producers_, argument);
      for (const Node* each : scatters) layout = view_of(*each, layout);
      return layout;
    };
    return same_layouts(graph_, replaced, [&] { return layout_of(graph_, producers_, around); });
  }
  ValueId memory_of(ValueId id) const {
    const int place = producers_[static_cast<std::size_t>(id)];
    if (place < 0) return id;
    const Node& node = graph_.nodes[static_cast<std::size_t>(place)];
    return node.is_view() ? memory_of(node.operands[0].value) : id;
  }

  static Effect narrowed(Rewriter& rewriter, Effect effect, const Part& part) {
    for (const Node* each : part.scatters) {
      const Op& view = *view_undone_by(*each->op);
      effect.input = rewriter.apply(view, {Operand::of(effect.input)}, each->attrs, *each)[0];
    }
    effect.value = rewriter.at(part.value);
    return effect;
  }

  const Graph& graph_;
  std::vector<int> producers_;
  std::vector<int> reads_;  // of each value
};

}  // namespace

Graph narrow_writes(Graph graph) {
  if (graph.effects.empty()) return dce(std::move(graph));
  std::optional<Graph> made = Narrower(graph).run();
  return dce(made ? std::move(*made) : std::move(graph));
}

}  // namespace kiln::jit

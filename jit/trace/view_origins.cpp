#include "jit/trace/view_origins.h"

#include <algorithm>
#include <map>
#include <optional>

#include "jit/graph/trace.h"
#include "jit/passes/run_recipe.h"
#include "tensor/core_ops.h"
#include "tensor/tape/meta.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

// The tensor that a value is, or is a view of: the first name of it. Nothing for what comes from arguments,
// which are there to be viewed, and for tensors that got another storage.
std::optional<ValueId> base_of(const Graph& graph, std::span<const int> producers, ValueId id,
                               std::vector<const Node*>& views, std::vector<int>& places, bool& unrecorded) {
  for (;;) {
    const int producer = producers[static_cast<std::size_t>(id)];
    if (producer < 0) return std::nullopt;
    const Node& node = graph.nodes[static_cast<std::size_t>(producer)];
    if (node.writes_storage()) return std::nullopt;
    const bool is_view = node.writes_layout() || (node.is_view() && !node.op->has(kStopsGradient));
    if (!is_view && !node.writes() && !node.is_unrecorded) return id;
    if (!node.operands[0].is_value()) return std::nullopt;
    unrecorded = unrecorded || node.is_unrecorded;
    if (is_view) {
      views.push_back(&node);
      places.push_back(static_cast<int>(id - node.outputs[0]));
    }
    id = node.operands[0].value;
  }
}

// Is there an output that a composite op gives, or a view of that? Such an op may give views itself.
bool may_come_of_bodies(const Graph& captured, std::span<const int> producers) {
  return std::any_of(captured.outputs.begin(), captured.outputs.end(), [&](const Operand& each) {
    std::vector<const Node*> views;
    std::vector<int> places;
    bool unrecorded = false;
    const auto base =
        each.is_value() ? base_of(captured, producers, each.value, views, places, unrecorded) : std::nullopt;
    if (!base) return false;
    const Node& maker = captured.nodes[static_cast<std::size_t>(producers[static_cast<std::size_t>(*base)])];
    return !maker.is_constant() && is_composite(*maker.op);
  });
}

}  // namespace

ViewOrigins ViewOrigins::of(const Graph& captured) {
  const std::vector<int> producers = captured.producers();
  return may_come_of_bodies(captured, producers) ? of_views(run_recipe(recipes::kViews, captured))
                                                 : of_views(captured);
}

ViewOrigins ViewOrigins::of_views(const Graph& captured) {
  ViewOrigins made;
  const std::vector<int> producers = captured.producers();
  std::vector<std::pair<ValueId, std::size_t>> bases;  // that are outputs
  std::vector<ValueId> base_of_view;
  std::map<ValueId, std::size_t> hidden;  // bases that are no outputs, by number
  for (std::size_t k = 0; k < captured.outputs.size(); ++k) {
    if (!captured.outputs[k].is_value()) continue;
    std::vector<const Node*> views;
    std::vector<int> places;
    bool unrecorded = false;
    const auto base = base_of(captured, producers, captured.outputs[k].value, views, places, unrecorded);
    if (!base) continue;
    if (views.empty()) {
      bases.emplace_back(*base, k);
      made.own_.push_back(k);
      continue;
    }
    const bool of_itself = std::ranges::all_of(views, &Node::writes_layout);
    View view{k, k, unrecorded, of_itself, {}};
    for (std::size_t i = views.size(); i-- > 0;)
      view.steps.push_back({views[i]->op, views[i]->attrs, places[i]});
    made.views_.push_back(std::move(view));
    base_of_view.push_back(*base);
  }
  for (std::size_t i = 0; i < made.views_.size(); ++i) {
    const ValueId base = base_of_view[i];
    const auto found =
        std::find_if(bases.begin(), bases.end(), [&](const auto& each) { return each.first == base; });
    if (found != bases.end()) {
      made.views_[i].base = found->second;
      continue;
    }
    const auto [at, is_new] = hidden.try_emplace(base, made.hidden_.size());
    const Type& type = captured.values[static_cast<std::size_t>(base)].type;
    if (is_new) made.hidden_.push_back({type.sizes, type.dtype, {}});
    made.hidden_[at->second].views.push_back(i);
  }
  return made;
}

void ViewOrigins::link(const Tensor& x, const Tensor& base, const View& view, const SymbolValues& symbols) {
  ViewSteps taken;
  for (const Step& each : view.steps)
    taken = taken.then({each.op, evaluate(*each.op, each.attrs, symbols), each.output});
  x.impl()->origin.reset(new ViewOrigin{base, std::move(taken), tape::history_version(base), view.of_itself});
}

// The memory that these views share, as the tensor that they are views of in the program; nothing when the
// graph that ran has not made all of it.
Tensor ViewOrigins::shared_base(const Hidden& hidden, Inputs outputs, const SymbolValues& symbols) const {
  const Dims sizes = evaluate(hidden.sizes, symbols);
  Tensor whole;
  for (const std::size_t i : hidden.views) {
    const Tensor& x = outputs[views_[i].output];
    const Tensor made = x.impl()->origin ? base_of(*x.impl()->origin) : x;
    if (made.numel() == count_elements(sizes) && made.dtype() == hidden.dtype && made.is_contiguous())
      whole = made;
  }
  if (!whole) return {};
  for (const std::size_t i : hidden.views) {
    if (outputs[views_[i].output].storage() != whole.storage()) return {};
  }
  return Tensor::alias(whole, {sizes, contiguous_strides(sizes), whole.layout().offset});
}

void ViewOrigins::place(Inputs outputs, const SymbolValues& symbols) const {
  std::vector<Tensor> bases;
  for (const Hidden& each : hidden_) bases.push_back(shared_base(each, outputs, symbols));
  for (const std::size_t k : own_) outputs[k].impl()->origin = nullptr;
  for (const View& view : views_) {
    if (view.base != view.output) link(outputs[view.output], outputs[view.base], view, symbols);
  }
  for (std::size_t h = 0; h < hidden_.size(); ++h) {
    for (const std::size_t i : hidden_[h].views) {
      const Tensor& x = outputs[views_[i].output];
      if (bases[h])
        link(x, bases[h], views_[i], symbols);
      else if (hidden_[h].views.size() == 1)
        x.impl()->origin = nullptr;
    }
  }
}

void ViewOrigins::settle(Inputs outputs) const {
  for (const View& view : views_) {
    ViewOrigin* const origin = outputs[view.output].impl()->origin.get();
    if (origin != nullptr) origin->history_version = tape::history_version(base_of(*origin));
  }
}

void ViewOrigins::give(Inputs outputs, const SymbolValues& symbols) const {
  for (const std::size_t k : own_) {
    TensorImpl& impl = *outputs[k].impl();
    if (impl.origin && !impl.autograd) [[unlikely]]
      impl.origin = nullptr;
  }
  for (const View& view : views_) {
    const Tensor& x = outputs[view.output];
    TensorImpl& impl = *x.impl();
    if (view.base == view.output) {
      // Its base is no result, and need not have been computed: there is one of these elements alone.
      if (impl.origin || view.of_itself) continue;
      static const Op& kView = core_ops().view;
      const Tensor base = Tensor::alias(x, x.layout());
      if (const tape::Edge edge = tape::history(x)) tape::start_history(base, edge);
      Attrs attrs(kView);
      attrs.set("shape", x.sizes());
      impl.origin.reset(
          new ViewOrigin{base, ViewSteps().then({&kView, attrs, 0}), tape::history_version(base)});
      continue;
    }
    if (impl.autograd) continue;
    const Tensor& base = outputs[view.base];
    if (impl.origin && impl.origin->base.is_same(base)) continue;
    if (base.impl()->autograd && !view.is_unrecorded) continue;
    link(x, base, view, symbols);
  }
}

}  // namespace kiln::jit

#include "interpreter/capture/view_origins.h"

#include <algorithm>
#include <optional>

#include "jit/passes/passes.h"
#include "jit/trace.h"
#include "tensor/tape/meta.h"
#include "tensor/view.h"

namespace kiln::interp::capture {
namespace {

// The tensor that a value is, or is a view of: the first name of it. Nothing for what comes from arguments,
// which are there to be viewed, and for tensors that were made views of themselves.
std::optional<jit::ValueId> base_of(const jit::Graph& graph, std::span<const int> producers, jit::ValueId id,
                                    std::vector<const jit::Node*>& views, std::vector<int>& places,
                                    bool& unrecorded) {
  for (;;) {
    const int producer = producers[static_cast<std::size_t>(id)];
    if (producer < 0) return std::nullopt;
    const jit::Node& node = graph.nodes[static_cast<std::size_t>(producer)];
    if (node.rebinds()) return std::nullopt;
    const bool is_view = node.is_view() && !node.op->has(kStopsGradient);
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
bool may_come_of_bodies(const jit::Graph& captured, std::span<const int> producers) {
  return std::any_of(captured.outputs.begin(), captured.outputs.end(), [&](const jit::Operand& each) {
    std::vector<const jit::Node*> views;
    std::vector<int> places;
    bool unrecorded = false;
    const auto base =
        each.is_value() ? base_of(captured, producers, each.value, views, places, unrecorded) : std::nullopt;
    if (!base) return false;
    const jit::Node& maker =
        captured.nodes[static_cast<std::size_t>(producers[static_cast<std::size_t>(*base)])];
    return !maker.is_constant() && jit::is_composite(*maker.op);
  });
}

}  // namespace

ViewOrigins ViewOrigins::of(const jit::Graph& captured) {
  const std::vector<int> producers = captured.producers();
  return may_come_of_bodies(captured, producers) ? of_views(jit::expand_views(captured)) : of_views(captured);
}

ViewOrigins ViewOrigins::of_views(const jit::Graph& captured) {
  ViewOrigins made;
  const std::vector<int> producers = captured.producers();
  std::vector<std::pair<jit::ValueId, std::size_t>> bases;  // that are outputs
  std::vector<jit::ValueId> base_of_view;
  for (std::size_t k = 0; k < captured.outputs.size(); ++k) {
    if (!captured.outputs[k].is_value()) continue;
    std::vector<const jit::Node*> views;
    std::vector<int> places;
    bool unrecorded = false;
    const auto base = base_of(captured, producers, captured.outputs[k].value, views, places, unrecorded);
    if (!base) continue;
    if (views.empty()) {
      bases.emplace_back(*base, k);
      made.own_.push_back(k);
      continue;
    }
    View view{k, k, unrecorded, {}};
    for (std::size_t i = views.size(); i-- > 0;)
      view.steps.push_back({views[i]->op, views[i]->attrs, places[i]});
    made.views_.push_back(std::move(view));
    base_of_view.push_back(*base);
  }
  for (std::size_t i = 0; i < made.views_.size(); ++i) {
    const auto found = std::find_if(bases.begin(), bases.end(),
                                    [&](const auto& each) { return each.first == base_of_view[i]; });
    if (found != bases.end()) made.views_[i].base = found->second;
  }
  return made;
}

void ViewOrigins::give(Inputs outputs, const jit::SymbolValues& symbols) const {
  for (const std::size_t k : own_) {
    TensorImpl& impl = *outputs[k].impl();
    if (impl.origin && !impl.autograd) [[unlikely]]
      impl.origin = nullptr;
  }
  for (const View& view : views_) {
    const Tensor& x = outputs[view.output];
    TensorImpl& impl = *x.impl();
    if (impl.autograd || (view.base == view.output && impl.origin)) continue;
    if (view.base == view.output) {
      // Its base is no result, and need not have been computed: there is one of these elements alone.
      static const Op& kView = OpTable::get().at("view");
      Attrs attrs(kView);
      attrs.set("shape", x.sizes());
      impl.origin.reset(new ViewOrigin{Tensor::alias(x, x.layout()), {{&kView, attrs, 0}}});
      continue;
    }
    const Tensor& base = outputs[view.base];
    if (impl.origin && impl.origin->base.is_same(base)) continue;
    if (base.impl()->autograd && !view.is_unrecorded) continue;
    impl.origin.reset(new ViewOrigin{base, {}, tape::history_version(base)});
    for (const Step& each : view.steps)
      impl.origin->steps.push_back({each.op, jit::evaluate(*each.op, each.attrs, symbols), each.output});
  }
}

}  // namespace kiln::interp::capture

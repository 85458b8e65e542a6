#include "interpreter/capture/recorded_views.h"

#include <algorithm>
#include <numeric>

#include "tensor/core_ops.h"
#include "tensor/tape/meta.h"

namespace kiln::interp::capture {

void RecordedViews::note(Inputs outputs) {
  for (const Tensor& x : outputs) {
    const ViewOrigin* origin = x.impl()->origin.get();
    if (origin == nullptr) {
      results_.push_back({Kind::Own, std::nullopt});
    } else {
      results_.push_back({origin->of_itself ? Kind::Rearranged : Kind::View,
                          View{origin->steps, base_of(*origin).layout(), x.layout(), base_of(*origin).dtype(),
                               x.storage()->bytes()}});
    }
  }
}

void RecordedViews::note_arguments(const jit::Graph& captured) {
  std::vector<std::size_t> tensor(captured.values.size());  // as the first value that it is
  std::iota(tensor.begin(), tensor.end(), std::size_t{0});
  for (const jit::Node& node : captured.nodes) {
    if (!node.writes() || !node.operands[0].is_value()) continue;
    const std::size_t target = tensor[static_cast<std::size_t>(node.operands[0].value)];
    tensor[static_cast<std::size_t>(node.outputs[0])] = target;
    if (node.writes_storage() && target < captured.inputs.size()) moved_.push_back(target);
  }
}

void RecordedViews::give_arguments(Inputs arguments) const {
  for (const std::size_t each : moved_) {
    std::unique_ptr<ViewOrigin, MetaDeleter>& origin = arguments[each].impl()->origin;
    if (origin && !origin->of_itself) origin = nullptr;
  }
}

void RecordedViews::give(Inputs outputs, bool same_sizes) const {
  for (std::size_t k = 0; k < results_.size(); ++k) {
    const Tensor& x = outputs[k];
    std::unique_ptr<ViewOrigin, MetaDeleter>& origin = x.impl()->origin;
    const bool made_view = origin && !origin->of_itself;
    if (results_[k].kind == Kind::View) {
      if (!made_view) make_view(x, *results_[k].view, same_sizes);
    } else if (results_[k].kind == Kind::Rearranged && !origin) {
      // Its layout changed and became what it was. Other results may be views of it by steps from there.
      make_view(x, *results_[k].view, same_sizes && x.layout() == results_[k].view->base);
      origin->of_itself = true;
    } else if (made_view) {
      // The hidden tensor that it was before stays the base of its views.
      const auto is_base = [&](const Tensor& each) { return each.is_same(origin->base); };
      if (results_[k].kind == Kind::Rearranged && std::none_of(outputs.begin(), outputs.end(), is_base))
        origin->of_itself = true;
      else
        origin = nullptr;
    }
  }
}

// Where the result is stored as it was, the base is what it was. Of a result with a history it is a tensor of
// the same elements, since the history of the other one is not known.
void RecordedViews::make_view(const Tensor& x, const View& recorded, bool same_sizes) {
  const tape::Edge edge = tape::history(x);
  if (same_sizes && !edge && x.layout() == recorded.view && x.storage()->bytes() == recorded.bytes) {
    const Tensor base = Tensor::alias(x, recorded.base, recorded.dtype);
    x.impl()->origin.reset(new ViewOrigin{base, recorded.steps, tape::history_version(base)});
    return;
  }
  static const Op& kView = core_ops().view;
  const Tensor base = Tensor::alias(x, x.layout());
  if (edge) tape::start_history(base, edge);
  Attrs attrs(kView);
  attrs.set("shape", x.sizes());
  x.impl()->origin.reset(
      new ViewOrigin{base, ViewSteps().then({&kView, attrs, 0}), tape::history_version(base)});
}

}  // namespace kiln::interp::capture

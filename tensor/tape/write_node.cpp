#include "tensor/tape/write_node.h"

#include "tensor/functions.h"
#include "tensor/tape/meta.h"

namespace kiln::tape {

namespace {

// The gradient of the base, so that the view's steps can be taken of it. Those that count places of the
// storage need the strides of the base, and may see elements that it does not have.
Tensor laid_out(const ViewPath& path, const Tensor& grad) {
  const Layout& base = path.base();
  if (!path.counts_places()) return ops::contiguous(grad);
  const auto [base_begin, base_end] = extent(base);
  const auto [view_begin, view_end] = extent(path.view());
  const std::int64_t begin = std::min(base_begin, view_begin);
  const std::int64_t end = std::max(base_end, view_end);
  const bool has_gaps = base.strides != contiguous_strides(base.sizes);
  if (!has_gaps && begin == base_begin && end == base_end) return ops::contiguous(grad);
  const Tensor storage = ops::as_strided_scatter(ops::zeros(Dims{end - begin}, grad.dtype(), grad.device()),
                                                 grad, base.sizes, base.strides, base.offset - begin);
  return ops::as_strided(storage, base.sizes, base.strides, storage.offset() + base.offset - begin);
}

}  // namespace

Tensors write_gradients(const ViewPath& path, const Tensor& grad, std::span<const bool> needs) {
  std::vector<Tensor> views{laid_out(path, grad)};
  const std::vector<ViewStep> steps = path.of(views.back());
  for (const ViewStep& step : steps) views.push_back(follow_steps(views.back(), {&step, 1}));
  Tensors result(2);
  if (needs[1]) result[1] = views.back();
  if (needs[0]) {
    Tensor rest = ops::zeros_like(views.back());
    for (std::size_t i = steps.size(); i-- > 0;) {
      rest = steps[i].op->undo.fn(views[i], rest, steps[i].attrs, steps[i].output);
    }
    result[0] = rest;
  }
  return result;
}

WriteNode::WriteNode(const Tensor& view, const Tensor& base, const Edge& written)
    : Node(next_sequence()), path_(view) {
  if (path_.counts_places() && path_.steps().change_dtype()) {
    throw OpError(ErrorKind::Autograd,
                  "a write through as_strided and a view of another dtype, such as real, has no gradient",
                  {0}, "write to a copy: x.clone()");
  }
  edges.push_back(path_.steps().show_all() ? Edge{} : history(base));
  edges.push_back(written);
  output_types.push_back(base.type());
}

void WriteNode::settle(const SymbolValues& values) {
  Node::settle(values);
  path_ = ViewPath(path_.steps().at(values), evaluate(path_.base(), values), evaluate(path_.view(), values));
}

Tensors WriteNode::backward(Inputs grads, std::span<const bool> needs) {
  return write_gradients(path_, grads[0], needs);
}

}  // namespace kiln::tape

// Owns the node of a write through a view, as the view's base sees it.
#pragma once

#include "tensor/tape/node.h"
#include "tensor/view.h"

namespace kiln::tape {

// Elements of a view were replaced: from the gradient of its base as it is after, that of the base before,
// and that of what was written. `needs`: which of the two are wanted, the others are absent.
Tensors write_gradients(const ViewPath& path, const Tensor& grad, std::span<const bool> needs);

class WriteNode final : public Node {
 public:
  WriteNode(const Tensor& view, const Tensor& base, const Edge& written);

  std::string name() const override { return "WriteThroughViewBackward"; }
  Tensors backward(Inputs grads, std::span<const bool> needs) override;

 private:
  void visit_kept(ReferenceVisitor&) const override {}
  void settle(const SymbolValues& values) override;
  ViewPath path_;
  LiveCount count_;
};

}  // namespace kiln::tape

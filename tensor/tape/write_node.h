// Owns the node of a write through a view, as the view's base sees it.
#pragma once

#include "tensor/tape/node.h"
#include "tensor/view.h"

namespace kiln::tape {

// Elements of the view are replaced by what `written` stands for, the others kept.
class WriteNode final : public Node {
 public:
  WriteNode(const Tensor& view, const Tensor& base, const Edge& written);

  std::string name() const override { return "WriteThroughViewBackward"; }
  Tensors backward(Inputs grads, std::span<const bool> needs) override;

 private:
  void visit_kept(ReferenceVisitor&) const override {}
  Tensor laid_out(const Tensor& grad) const;

  ViewPath path_;
  LiveCount count_;
};

}  // namespace kiln::tape

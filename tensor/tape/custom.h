// Owns nodes whose derivative is not a row of the op table: the user's `autograd` functions.
#pragma once

#include <memory>
#include <optional>

#include "tensor/tape/node.h"
#include "tensor/tape/saved.h"

namespace kiln::tape {

// The error of a second backward through a function, after its graph was freed.
OpError freed_function_error(const std::string& name);

class CustomDerivative {
 public:
  virtual ~CustomDerivative() = default;
  virtual std::string name() const = 0;  // as `x.grad_fn` shows it
  // One gradient per input, absent for none. Runs with recording on when a second order is wanted. Count,
  // shapes and dtypes are checked by the caller. `node` is for SavedTensor::get.
  virtual Tensors backward(Node& node, Inputs grads, std::span<const bool> needs) = 0;
  // The graph was freed: releases the saved values.
  virtual void release_saved() {}
  // Are absent gradients of outputs passed as zeros?
  virtual bool wants_zeros() const { return true; }
  // Is it not known to be ops of what was kept?
  virtual bool is_opaque() const { return true; }
  // The call in which it was made over symbols has ended: sizes that it keeps become ints.
  virtual void settle(const SymbolValues&) {}
  virtual void visit_references(ReferenceVisitor& visitor) const = 0;
};

// Links outputs, computed with recording off, to inputs by one node. Outputs that are not floats stay
// constants, as do those that `constant` marks (empty: none). An output that is the same tensor as an input
// was written in place: its history is replaced; call `check_write` before the write. Does nothing when no
// input has a history.
void record_custom(Inputs inputs, Inputs outputs, std::unique_ptr<CustomDerivative> derivative,
                   std::span<const bool> constant = {});

// A value kept by a CustomDerivative (`ctx.save`): as it was, with its history, and without keeping the node
// alive when it is one of the node's own outputs.
class SavedTensor {
 public:
  explicit SavedTensor(const Tensor& value);
  // Call with the outputs before `record_custom`.
  void look_among(Inputs outputs);
  Tensor get(Node& node) const;
  void settle(const SymbolValues& values) {
    saved_.settle(values);
    type_.sizes = evaluate(type_.sizes, values);
  }
  void visit_references(ReferenceVisitor& visitor) const {
    saved_.visit_references(visitor);
    edge_.visit_references(visitor);
  }

 private:
  Saved saved_;
  TensorType type_;
  Edge edge_;
  const TensorImpl* identity_;
  std::optional<std::uint32_t> output_;
};

}  // namespace kiln::tape

// Owns how views remember where they come from, so that writes through them can be seen by the tape.
#pragma once

#include <algorithm>
#include <vector>

#include "tensor/op.h"

namespace kiln {

struct ViewStep {
  const Op* op;
  Attrs attrs;
  int output;
};

// `steps` applied to `base` in order give the view. A view of a view has the same base and one more step.
struct ViewOrigin {
  Tensor base;
  std::vector<ViewStep> steps;
  // The base's AutogradMeta::history_version when this view last took its history from it.
  std::uint32_t history_version = 0;
  // The base is what this very tensor was before a write of its layout (`t_`): nobody made a view.
  bool of_itself = false;
};

// Do writes through views of these steps leave none of the base's elements? Each has an `op`.
template <class Steps>
bool show_all(const Steps& steps) {
  return std::all_of(steps.begin(), steps.end(), [](const auto& each) { return each.op->has(kShowsAll); });
}

// Is x a view of another tensor, in the eyes of the user?
bool is_view(const Tensor& x);

// Remembers that `view` is the `output`-th result of the view op on `input`. Nothing for rows that cut the
// history.
void link_view(const Op& op, const Tensor& input, const Attrs& attrs, int output, const Tensor& view);

// The tensor that the steps of an origin start from. A base that was itself rearranged (`t_`) became a view
// of a hidden tensor with the layout the steps were made for.
const Tensor& base_of(const ViewOrigin& origin);

// Does the view lie where its base no longer does, since that was made a tensor of another storage (set_)?
inline bool is_stale(const Tensor& x) {
  const ViewOrigin* origin = x.impl()->origin.get();
  return origin != nullptr && base_of(*origin).storage() != x.storage();
}

// The row of `set_`, which is of no table: it has no form that gives a new tensor.
const Op& set_op();

// Throws OpError (Value) when elements share memory in what `op` would write in place: a tensor of this type
// and layout.
void check_writable(const Op& op, const TensorType& type, const Layout& layout);

// Applies one view op to a plain tensor: aliases its storage, extends its origin. No tape.
Tensors apply_view(const Op& op, const Tensor& input, const Attrs& attrs);

}  // namespace kiln

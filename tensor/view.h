// Owns how views remember where they come from, so that writes through them can be seen by the tape.
#pragma once

#include <algorithm>
#include <vector>

#include "tensor/op.h"
#include "tensor/view_steps.h"

namespace kiln {

// `steps` applied to `base` in order give the view. A view of a view has the same base and one more step.
struct ViewOrigin {
  Tensor base;
  ViewSteps steps;
  // The base's AutogradMeta::history_version when this view last took its history from it.
  std::uint32_t history_version = 0;
  // The base is what this very tensor was before a write of its layout (`t_`): nobody made a view.
  bool of_itself = false;
  // Was the base written since the view was taken? Then the view's history is read off the base, also where
  // the base's ends without a write (`detach_`).
  bool follows = false;
  std::uint32_t cuts = 0;  // the base's AutogradMeta::cuts when a view that follows last read its history
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
// The same of one that shows memory of `base` in whatever way.
void link_as_strided(const Tensor& base, const Tensor& view);

// The tensor that the steps of an origin start from. A base that was itself rearranged (`t_`) became a view
// of a hidden tensor with the layout the steps were made for.
const Tensor& base_of(const ViewOrigin& origin);

// How a view is taken of its base anew, or of another tensor that lies in memory as the base does. Of very
// many steps one `as_strided` takes the place, so that the cost does not follow their number.
class ViewPath {
 public:
  explicit ViewPath(const Tensor& view);  // which has an origin
  ViewPath(ViewSteps steps, Layout base, Layout view)
      : steps_(std::move(steps)), base_(std::move(base)), view_(std::move(view)) {}

  // From the base itself.
  std::vector<ViewStep> of_base() const { return goes_by_place() ? by_place(base_) : steps_.in_order(); }
  // From a tensor of the base's sizes. One for steps that count places lies in memory as the base does and
  // holds all that the view shows: `can_be_of`.
  std::vector<ViewStep> of(const Tensor& like_base) const;
  bool can_be_of(const Tensor& like_base) const;
  bool counts_places() const { return goes_by_place() || steps_.count_places(); }
  const ViewSteps& steps() const { return steps_; }
  const Layout& base() const { return base_; }
  const Layout& view() const { return view_; }

 private:
  // Programs seldom take more, and read the names of those they take.
  static constexpr std::size_t kManySteps = 32;
  // Places are counted in elements of one dtype.
  bool goes_by_place() const { return steps_.size() > kManySteps && !steps_.change_dtype(); }
  std::vector<ViewStep> by_place(const Layout& from) const;
  bool lies_as_base(const Tensor& x) const;

  ViewSteps steps_;
  Layout base_, view_;
};

// Takes a view of x by these steps, through `bind`. Throws OpError (Shape) when one gives fewer parts of
// these sizes.
Tensor follow_steps(Tensor x, std::span<const ViewStep> steps);

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

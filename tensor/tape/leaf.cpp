#include "tensor/tape/leaf.h"

#include "tensor/functions.h"
#include "tensor/levels/level.h"
#include "tensor/tape/linked.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/mode.h"
#include "tensor/tape/sparse_gradient.h"

namespace kiln::tape {
namespace {

// Gradients go to leaves as soon as they are complete.
constexpr std::uint64_t kFirst = ~std::uint64_t{0};

bool is_captured() { return levels::top != nullptr && levels::top->notes_plain(); }

// A gradient as the leaf's own: not an alias of another leaf's, dense, and not a small part of a large
// buffer.
Tensor own(const Tensor& grad) {
  if (sparse::is_sparse(grad)) return grad.impl()->ref_count() == 1 ? grad : sparse::share(grad);
  const bool fills =
      static_cast<std::size_t>(grad.numel().hint()) * size_of(grad.dtype()) == grad.storage()->bytes();
  if (!grad.is_contiguous()) return ops::contiguous(grad);
  if (!fills || is_captured()) return ops::clone(grad);  // there it must come from some op
  const bool sole = grad.impl()->ref_count() == 1 && grad.storage()->ref_count() == 1 &&
                    !grad.storage()->buffer()->is_shared_outside();
  return sole && !grad.impl()->origin ? grad : share_value(grad);
}

}  // namespace

LeafNode::LeafNode(TensorImpl* leaf) : Node(kFirst), leaf_(leaf) {
  output_types.push_back(Tensor(Ref<TensorImpl>(leaf)).type());
}

Tensor LeafNode::leaf() const {
  const std::lock_guard lock(mutex_);
  return Tensor(Ref<TensorImpl>(leaf_));
}

void LeafNode::add_to_gradient(const Tensor& x, const Tensor& grad, bool record) {
  const levels::Gathering gathering(*this);
  Tensor& sum = meta_of(x)->grad;
  if (!sum) {
    sum = own(grad);
  } else if (sparse::is_sparse(sum) || sparse::is_sparse(grad)) {
    sum = sparse::add(sum, grad);
  } else if (record || requires_grad(sum) || has_overlap(sum.layout())) {
    sum = sum + grad;
  } else {
    ops::add_(sum, grad);
  }
  note_gradient(x);
}

void LeafNode::accumulate(const Tensor& grad, bool record) {
  const Tensor x = leaf();
  if (!x) return;
  if (x.sizes() != grad.sizes()) {
    throw OpError(ErrorKind::Autograd, "a gradient of shape " + to_string(grad.sizes()) +
                                           " reached a leaf that is a " + to_string(x.type()) +
                                           " by now: its shape was changed after it was used");
  }
  if (levels::wrapper_of(grad) != nullptr && !sparse::is_sparse(grad) &&
      (levels::wrapper_of(x) == nullptr || levels::wrapper_of(x)->level != levels::wrapper_of(grad)->level)) {
    throw OpError(ErrorKind::Autograd,
                  "backward: the gradient of this " + to_string(x.type()) +
                      " belongs to a transform inside of which it was not made",
                  {}, "take it as a result: grads(outputs, inputs)");
  }
  add_to_gradient(x, grad, record);
  // By index: a hook may add another.
  for (std::size_t i = 0; i < post_hooks_.size(); ++i) {
    const PostHook hook = post_hooks_[i].run;
    hook(x);
  }
}

void LeafNode::visit_kept(ReferenceVisitor& visitor) const { kiln::visit_references(post_hooks_, visitor); }

void LeafNode::remove_post_hook(int id) {
  std::erase_if(post_hooks_, [id](const Numbered& hook) { return hook.id == id; });
}

void LeafNode::move_hooks_to(LeafNode& next) {
  next.hooks = std::move(hooks);
  next.post_hooks_ = std::move(post_hooks_);
}

void make_leaf(const Tensor& x) {
  AutogradMeta& meta = make_meta(x);
  meta.history = Edge{Ref<Node>(new LeafNode(x.impl())), 0};
  meta.leaf = true;
}

void renew_leaf(const Tensor& x) {
  const Edge before = history(x);
  make_leaf(x);
  static_cast<LeafNode&>(*before.node).move_hooks_to(static_cast<LeafNode&>(*history(x).node));
}

void drop_history(const Tensor& x) {
  AutogradMeta* meta = meta_of(x);
  if (meta == nullptr) return;
  if (meta->leaf) static_cast<LeafNode&>(*meta->history.node).forget_leaf();
  meta->leaf = false;
  meta->history = Edge{};
  ++meta->cuts;
}

}  // namespace kiln::tape

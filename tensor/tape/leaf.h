// Owns the end of the tape at a leaf: where a gradient is added into `x.grad`.
#pragma once

#include <mutex>
#include <vector>

#include "tensor/tape/node.h"

namespace kiln::tape {

// Knows its leaf without keeping it alive: with create_graph the leaf's gradient has a history that leads
// back to here, and the two would never be freed.
class LeafNode final : public Node {
 public:
  explicit LeafNode(TensorImpl* leaf);

  std::string name() const override { return "AccumulateGrad"; }
  Tensors backward(Inputs, std::span<const bool>) override { return {}; }
  bool is_leaf() const override { return true; }
  Tensor leaf() const;  // absent when gone
  // What runs after it was added into, in order.
  struct Numbered {
    int id;
    PostHook run;
    void visit_references(ReferenceVisitor& visitor) const { run.visit_references(visitor); }
  };
  const std::vector<Numbered>& post_hooks() const { return post_hooks_; }

  // Adds into the leaf's grad; does nothing when the leaf is gone. `record`: the sum gets a history.
  void accumulate(const Tensor& grad, bool record);
  void add_post_hook(int id, PostHook hook) { post_hooks_.push_back({id, std::move(hook)}); }
  void remove_post_hook(int id);
  void forget_leaf() {
    const std::lock_guard lock(mutex_);
    leaf_ = nullptr;
  }
  // Hands its hooks on: the leaf has another type now.
  void move_hooks_to(LeafNode& next);

 private:
  void visit_kept(ReferenceVisitor& visitor) const override;
  void add_to_gradient(const Tensor& x, const Tensor& grad, bool record);

  mutable std::mutex mutex_;
  TensorImpl* leaf_;
  std::vector<Numbered> post_hooks_;
};

}  // namespace kiln::tape

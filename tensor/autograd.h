// Owns the tape as its users see it: requires_grad, backward, grads, hooks, no_grad.
#pragma once

#include <string>
#include <vector>

#include "tensor/callback.h"

namespace kiln {

bool requires_grad(const Tensor& x);                  // itself or through its history
void set_requires_grad(const Tensor& x, bool value);  // leaves only, floats only; throws OpError (Autograd)
bool is_leaf(const Tensor& x);
// A leaf that requires grad, or was marked: for good, so that what a module trains may be frozen and
// unfrozen.
bool is_parameter(const Tensor& x);
void mark_parameter(const Tensor& x);
Tensor grad_of(const Tensor& x);              // absent when there is none
void set_grad(const Tensor& x, Tensor grad);  // absent clears; throws OpError when type or shape differ
void detach_in_place(const Tensor& x);        // cuts x off its history and its base; memory stays shared
// Keeps the gradient of a tensor that is not a leaf in its `grad`, too. Throws OpError (Autograd) without
// history.
void retain_grad(const Tensor& x);
std::string grad_fn_name(const Tensor& x);  // "MulBackward", "" for leaves

// A hook may return a replacement gradient, or an absent tensor to leave it. The number removes it again.
using Hook = Callback<Tensor(const Tensor& grad)>;
int add_hook(const Tensor& x, Hook hook);
void remove_hook(const Tensor& x, int id);
// Runs after a backward added into x.grad; leaves that require grad only. `remove_hook` takes its number too.
using PostHook = Callback<void(const Tensor& x)>;
int add_post_accumulate_hook(const Tensor& x, PostHook hook);

// Adds d outputs / d leaf into the `grad` of every leaf. `gradient` absent: output has one element, ones.
// Throws OpError (Autograd) when nothing requires grad, or the history was freed by an earlier backward.
void backward(const Tensor& output, const Tensor& gradient = {}, bool retain_graph = false,
              bool create_graph = false);

// d outputs / d inputs, without touching `grad`. Absent where unused and allowed.
std::vector<Tensor> grads(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                          const std::vector<Tensor>& grad_outputs = {}, bool retain_graph = false,
                          bool create_graph = false, bool allow_unused = false);

bool grad_enabled();
// Sets the mode of this thread for a scope.
class GradMode {
 public:
  explicit GradMode(bool enabled);
  ~GradMode();
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool before_;
};
void set_grad_enabled(bool enabled);

// Number of live nodes of the tape, for tests of what is freed.
std::size_t live_tape_nodes();

}  // namespace kiln

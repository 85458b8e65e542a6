// Owns what a tensor knows of the tape: its history, its gradient, its hooks.
#pragma once

#include <memory>
#include <vector>

#include "tensor/tape/node.h"

namespace kiln {

namespace tape {

// What `grad_fn` says of a history in place of its node: a compiled call makes by other ops what the program
// did.
struct HistoryName {
  std::uint64_t sequence;  // of the node: of another one it says nothing
  std::shared_ptr<const std::string> text;
};

}  // namespace tape

struct AutogradMeta {
  tape::Edge history;         // of a leaf that requires grad: its LeafNode
  bool leaf = false;          // this tensor is the one that `history`'s LeafNode stands for
  bool is_parameter = false;  // of a module, also while it requires no gradient
  // How often a recorded write replaced the history. Views compare it with ViewOrigin::history_version.
  std::uint32_t history_version = 0;
  std::uint32_t cuts = 0;  // how often the history ended without a write
  std::unique_ptr<tape::HistoryName> history_name;
  Tensor grad;                              // of leaves
  Ref<tape::GradSlot> retained;             // of others, after `retain_grad`
  std::vector<Ref<tape::HookEntry>> hooks;  // to find them for `remove_hook`

  static void* operator new(std::size_t bytes);
  static void operator delete(void* memory);
};

namespace tape {

inline AutogradMeta* meta_of(const Tensor& x) { return x.impl()->autograd.get(); }
inline std::uint32_t history_version(const Tensor& x) {
  const AutogradMeta* meta = meta_of(x);
  return meta == nullptr ? 0 : meta->history_version;
}
inline std::uint32_t cuts(const Tensor& x) {
  const AutogradMeta* meta = meta_of(x);
  return meta == nullptr ? 0 : meta->cuts;
}
AutogradMeta& make_meta(const Tensor& x);  // the one it has or a new one

// Where x came from. A view whose base was written since is first made the view of what the base is now.
Edge history(const Tensor& x);
bool has_history(const Tensor& x);

// x is the `output`-th output of a new node. For tensors that nothing else knows yet.
void start_history(const Tensor& x, Edge edge);

// x was written: its value is that of `edge` now (empty: a constant). Seen by its base and all other views.
// Call `check_write` first.
void replace_history(const Tensor& x, const Edge& edge);

// The history of x, if it is from then on, goes by that name.
void show_history_as(const Tensor& x, const std::shared_ptr<const std::string>& name, std::uint64_t since);

// x becomes a leaf that requires grad, with the type it has now.
void make_leaf(const Tensor& x);
// x, a leaf that requires grad, has another type than when it became one.
void renew_leaf(const Tensor& x);
// x becomes a constant.
void drop_history(const Tensor& x);

// Throws OpError (Autograd) when recording and a write to x would lose a leaf's history.
void check_write(std::string_view op, const Tensor& x);

// A new tensor of the same value and history with memory of its own. Shares memory until one of them is
// written.
Tensor share_value(const Tensor& x);
// Likewise for a transform's tensor, with the histories of the levels below and without that of its own: a
// node may keep it though it made it.
Tensor share_wrapped(const Tensor& x);

}  // namespace tape
}  // namespace kiln

// Histories of tensors that share memory: views follow their base, writes through a view reach it.
#include "tensor/functions.h"
#include "tensor/levels/level.h"
#include "tensor/tape/leaf.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/mode.h"
#include "tensor/tape/op_node.h"
#include "tensor/tape/record.h"
#include "tensor/tape/write_node.h"
#include "tensor/view.h"

namespace kiln {

namespace tape {
namespace {

// x becomes the same view of what its base is now.
void follow_base(const Tensor& x, const Tensor& base) {
  ViewOrigin& origin = *x.impl()->origin;
  origin.history_version = history_version(base);
  origin.follows = true;
  origin.cuts = cuts(base);
  if (base.storage() != x.storage() && levels::wrapper_of(x) == nullptr) return;  // left behind by set_
  if (const AutogradMeta* meta = meta_of(x); meta != nullptr && meta->leaf) return;
  if (!history(base)) {
    if (AutogradMeta* meta = meta_of(x)) meta->history = Edge{};
    return;
  }
  const levels::AtLevelOf level(base);
  const GradMode record(true);
  make_meta(x).history = history(follow_steps(base, ViewPath(x).of_base()));
}

// The meta of x after x has followed its base.
const AutogradMeta* synced_meta(const Tensor& x) {
  if (const ViewOrigin* origin = x.impl()->origin.get()) {
    const Tensor& base = base_of(*origin);
    const bool is_behind = origin->follows && origin->cuts != cuts(base);
    if (origin->history_version != history_version(base) || is_behind) follow_base(x, base);
  }
  return meta_of(x);
}

bool is_leaf_that_requires_grad(const Tensor& x) {
  const Edge edge = history(x);
  return edge && edge.node->is_leaf();
}

// Of what x was made from by views.
Edge history_behind_views(const Tensor& x) {
  Edge edge = history(x);
  while (edge) {
    Edge of = edge.node->viewed(edge.output);
    if (!of) break;
    edge = std::move(of);
  }
  return edge;
}

// Was x made by views of a leaf that requires grad? The leaf may be a view itself, and the base of both
// without a history.
bool is_view_of_leaf(const Tensor& x) {
  const Edge edge = history_behind_views(x);
  if (!edge || !edge.node->is_leaf()) return false;
  const Tensor leaf = static_cast<const LeafNode&>(*edge.node).leaf();
  return leaf && leaf.storage() == x.storage();
}

// What a function of the program shows of its argument has the derivative that it says; a write would reach
// the argument, whose own history would not know.
void check_not_shared(std::string_view op, const Tensor& x) {
  const Edge edge = history_behind_views(x);
  if (!edge || !edge.node->shares_input(edge.output)) return;
  throw OpError(ErrorKind::Autograd,
                std::string(op) + ": this " + to_string(x.type()) + " is a view that " + edge.node->name() +
                    " gave of its argument, whose gradient would not see the write",
                {0}, "write to a copy: x.clone(), or return one from `forward`");
}

void check_undoable(std::string_view op, const ViewOrigin& origin) {
  const Op* const step = origin.steps.first_without_undo();
  if (step == nullptr) return;
  throw OpError(ErrorKind::Autograd,
                std::string(op) + ": a write through " + std::string(step->name()) +
                    " cannot be differentiated: " + std::string(step->undo.missing),
                {0}, "write to a copy: x.clone()");
}

}  // namespace

Edge history(const Tensor& x) {
  const AutogradMeta* meta = synced_meta(x);
  return meta != nullptr ? meta->history : Edge{};
}

bool has_history(const Tensor& x) {
  const AutogradMeta* meta = synced_meta(x);
  return meta != nullptr && meta->history;
}

void show_history_as(const Tensor& x, const std::shared_ptr<const std::string>& name, std::uint64_t since) {
  const Edge edge = history(x);
  if (edge && edge.node->sequence >= since && !edge.node->is_leaf())
    make_meta(x).history_name.reset(new HistoryName{edge.node->sequence, name});
}

void replace_history(const Tensor& x, const Edge& edge) {
  ViewOrigin* origin = x.impl()->origin.get();
  if (origin == nullptr) {
    AutogradMeta& meta = make_meta(x);
    meta.history = edge;
    ++meta.history_version;
    return;
  }
  const Tensor base = base_of(*origin);
  const Ref<Node> node(new WriteNode(x, base, edge));
  AutogradMeta& meta = make_meta(base);
  meta.history = meta.history || edge ? Edge{node, 0} : Edge{};
  ++meta.history_version;
  // A constant written through a view: the view reads its history off the base like every other one.
  if (!edge) return;
  origin->history_version = meta.history_version;
  make_meta(x).history = edge;
}

void check_write(std::string_view op, const Tensor& x) {
  if (!recording) return;
  const ViewOrigin* origin = x.impl()->origin.get();
  const bool leaf = is_leaf_that_requires_grad(x);
  if (leaf || (origin != nullptr && (is_leaf_that_requires_grad(base_of(*origin)) || is_view_of_leaf(x)))) {
    throw OpError(ErrorKind::Autograd,
                  std::string(op) + ": this " + to_string(x.type()) + " is " + (leaf ? "" : "a view of ") +
                      "a leaf that requires grad, and a write would lose what its gradient is taken of",
                  {0}, "write under `with no_grad() { … }`, or to a copy: x.clone()");
  }
  check_not_shared(op, x);
  if (origin != nullptr) check_undoable(op, *origin);
}

Tensor share_wrapped(const Tensor& x) {
  const Wrapper& wrapper = *levels::wrapper_of(x);
  const Tensor tangent = wrapper.tangent ? share_value(wrapper.tangent) : Tensor();
  return levels::wrap_like(x, share_value(wrapper.value), tangent);
}

Tensor share_value(const Tensor& x) {
  if (x.is_symbol()) return x;  // a number is never written
  Tensor shared;
  if (levels::wrapper_of(x) != nullptr) {
    shared = share_wrapped(x);
  } else {
    levels::announce_kept(x);
    shared = Tensor::from_storage(Storage::create(x.storage()->buffer()), x.layout(), x.dtype());
    shared.impl()->is_number = x.is_number();
  }
  if (const Edge edge = history(x)) start_history(shared, edge);
  return shared;
}

}  // namespace tape
}  // namespace kiln

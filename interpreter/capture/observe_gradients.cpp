// The look at backward and gradients: the tape runs as in eager code, and its ops are noted like others.
#include <algorithm>

#include "interpreter/capture/observe.h"
#include "interpreter/vm/hook.h"
#include "jit/shape_rules.h"
#include "tensor/autograd.h"
#include "tensor/tape/freed_histories.h"

namespace kiln::interp::capture {

// Only a history that began during capture is certain to be the same in the next call.
void Observer::differentiate(const std::string& name, std::span<const Value> arguments) {
  if (!tracer_.recorder_.body_trouble().empty())
    return tracer_.stop("derivatives: " + tracer_.recorder_.body_trouble());
  const bool into_leaves = name == "backward";
  std::vector<Tensor> roots;
  const auto add_root = [&](const Value& v) {
    if (v.is(Tag::Tensor)) roots.push_back(v.tensor());
  };
  add_root(arguments[0]);
  if (arguments[0].is(Tag::List) || arguments[0].is(Tag::Tuple)) {
    const Value& v = arguments[0];
    for (const Value& each : v.is(Tag::List) ? v.as<List>().items : v.as<Tuple>().items) add_root(each);
  }
  for (const Tensor& each : roots) {
    if (each.impl()->wrapper) return tracer_.stop("`" + name + "` is called inside of a transform");
  }
  const tape::Reach reach = tape::reach_of(roots, tracer_.tape_began_);
  if (!reach.obstacle.empty()) return tracer_.stop(std::string(reach.obstacle));
  // The guard on a leaf lists its hooks by id, and each id stands for one function.
  for (const Hook& each : reach.hooks) {
    const auto* hook = each.target<host::ProgramHook>();
    if (hook == nullptr) return tracer_.stop("a hook of the library is called");
    tracer_.know_constant(hook->function);
  }
  for (const PostHook& each : reach.post_hooks) {
    const auto* hook = each.target<host::ProgramPostHook>();
    if (hook == nullptr) return tracer_.stop("a hook of the library is called");
    tracer_.know_constant(hook->function);
  }
  tracer_.save_checkpoint();
  for (const Tensor& each : reach.leaves) {
    const Value leaf(each);
    if (!tracer_.is_outside(leaf)) return tracer_.stop("a gradient flows into a tensor that was made here");
    if (!into_leaves) continue;
    tracer_.read_gradient(leaf);
    tracer_.gradients_to_change_.push_back(leaf);
  }
  tracer_.differentiates_now_ = true;
}

// A hook on a tensor made during capture is called by a backward within the entry, which notes the hook's
// ops, or by no backward that the entry contains.
void Observer::hook(const Value& x) {
  if (tracer_.is_apart_ || !x.is(Tag::Tensor) || x.tensor().impl()->wrapper || tracer_.is_outside(x))
    return tracer_.stop(
        "a hook is put on a tensor from outside: put it there once, before the function is called");
  tracer_.save_checkpoint();
  tracer_.undo_.emplace_back([tracer = &tracer_, before = tracer_.hooked_] { tracer->hooked_ = before; });
  tracer_.hooked_ = true;
  tracer_.differentiated_at_ = tracer_.stop_here();
}

void Observer::set_gradient(const Value& x, const Value& gradient) {
  if (!tracer_.is_outside(x)) return tracer_.stop("the gradient of a tensor that was made here");
  if (gradient.is_none() || gradient.is(Tag::Tensor)) tracer_.gradients_to_change_.push_back(x);
}

// ---- The gradients of outside tensors ----

// Does a backward that is calling back just now add to the gradient of this tensor, before or after?
bool Tracer::is_under_way(const Value& gradient_of) const {
  return std::any_of(gradients_under_way_.begin(), gradients_under_way_.end(),
                     [&](const Value& each) { return each.object() == gradient_of.object(); });
}

void Tracer::read_gradient(const Value& x) {
  if (is_under_way(x)) return;  // the gradient was read before that backward, which now makes a new one
  const Change* change = changed(x);
  if (change != nullptr && change->gradient) return;
  const OutsideValue* outside = known(x);
  if (outside == nullptr) return stop("the gradient of a tensor that was made here");
  const SourceId source = outside->source;
  arrive_part(Value(grad_of(x.tensor())), source, Source::Kind::Grad, 0, {}, item_name(x, ".grad"));
}

// Called after the instruction, so that one that cannot be noted leaves the notes unchanged.
void Tracer::note_gradients() {
  for (const Value& each : gradients_to_change_) {
    change(each, known(each)->source).gradient = Value(grad_of(each.tensor()));
  }
  gradients_to_change_.clear();
  if (differentiates_now_) differentiated_at_ = stop_here();
  differentiated_ = differentiated_ || differentiates_now_;
  differentiates_now_ = false;
}

// Describes the freed histories of results. False: the entry must run under the tape, since a result has a
// history that holds values, or the history of a tensor from outside has changed.
bool Tracer::finish_histories(Finished& finished) {
  if (!records_gradients_) return true;
  std::unordered_map<SourceId, const Tensor*> tensors;
  for (const auto& [object, known] : known_) {
    if (known.held.is(Tag::Tensor)) tensors.emplace(known.source, &known.held.tensor());
  }
  const bool differentiated = finished.snapshot.differentiated;
  for (const Guard& each : guards_) {
    const auto found = tensors.find(each.source);
    if (each.kind != Guard::Kind::Tensor || found == tensors.end()) continue;
    const Tensor& x = *found->second;
    const bool had = each.tensor.requires_grad;
    if (requires_grad(x) != had) return false;
    if (had && differentiated && !tape::is_leaf_with(x, each.tensor.hooks)) return false;
    if (had && recorder_.wrote_history() && !is_leaf(x)) return false;
  }
  auto histories = tape::FreedHistories::of(finished.outputs);
  if (!histories || (!differentiated && !histories->empty())) return false;
  for (const Tensor& each : histories->take_leaves()) {
    const OutsideValue* leaf = known(Value(each));
    if (leaf == nullptr) return false;
    finished.leaves.push_back(leaf->source);
  }
  finished.histories = std::move(*histories);
  return true;
}

// Do the freed histories hold for other sizes?
bool Tracer::histories_follow_sizes(const Finished& finished) const {
  std::vector<bool> varies;
  for (const Tensor& each : finished.outputs) {
    varies.push_back(has_symbols(each.sizes()));
  }
  return !finished.histories.keep_sizes(varies);
}

}  // namespace kiln::interp::capture

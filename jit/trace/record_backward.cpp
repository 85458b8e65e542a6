// What the tape tells the recorder during a backward: of which value the noted ops are the derivative, and
// which ops belong to a checkpoint that runs again.
#include "jit/trace/record.h"
#include "tensor/core_ops.h"
#include "tensor/host_view.h"
#include "tensor/tape/leaf.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/recompute.h"
#include "tensor/tape/record.h"

namespace kiln::jit {

// The value that a node of the tape made; of a leaf, the present value of its tensor.
int Recorder::value_made_by(const tape::Node* node) const {
  if (node == nullptr) return kNoOrigin;
  if (node->is_leaf()) {
    const auto leaf = ids_.find(static_cast<const tape::LeafNode*>(node)->leaf().impl());
    return leaf == ids_.end() ? kNoOrigin : leaf->second;
  }
  const auto found = made_by_.find(node);
  return found == made_by_.end() ? kNoOrigin : found->second;
}

void Recorder::gathers(const tape::Node* node) { origin_ = value_made_by(node); }

void Recorder::differentiates(const tape::Node* node) {
  is_differentiating_ = node != nullptr;
  origin_ = value_made_by(node);
}

// ---- Checkpoints ----

// The second run of a checkpoint is noted like the first, and is no part of the derivative that needs it.
void Recorder::runs_again(const tape::Recompute* again) {
  runs_again_ = again != nullptr;
  if (again != nullptr) {
    drawn_[again->id()].next = 0;
    interrupted_place_ = place_;
    return;
  }
  place_ = interrupted_place_;
}

void Recorder::begins_step(const tape::Recompute& checkpoint, std::size_t step) {
  std::vector<Place>& places = step_places_[checkpoint.id()];
  if (!checkpoint.is_running_again()) {
    places.resize(step);
    places.push_back(place_);
  } else if (step < places.size()) {
    place_ = places[step];
  }
}

// The checkpoint under way, if it began during the recording.
const tape::Recompute* Recorder::checkpoint() const {
  const tape::Recompute* const now = tape::Recompute::current();
  return now != nullptr && now->id() > began_ ? now : nullptr;
}

// The arguments of a second run are new tensors, with the elements that the first run's arguments had.
int Recorder::copied(const Tensor& x, int value) {
  static const Op& kClone = core_ops().clone;
  Node copy = node_of(kClone, Form::Plain, {}, Attrs(kClone));
  copy.operands.push_back({value, false});
  note(std::move(copy), {&x, 1});
  if (tape::sees({&x, 1})) remember(x);
  return ids_.at(x.impl());
}

// A graph draws once. The draws are held with their present elements: a later write to one goes to a copy.
void Recorder::draws(Inputs results) {
  const tape::Recompute* const first = checkpoint();
  if (first == nullptr) return;
  for (const Tensor& each : results) {
    remember(each);
    drawn_[first->id()].results.push_back(tape::share_value(each));
  }
}

// Skipped draws are noted in the first run only: a second run takes the draws of the first.
void Recorder::skips_draws(std::int64_t count) {
  if (!is_noting() || runs_again_) return;
  static const Op& kSkip = core_ops().skip_draws;
  Attrs attrs(kSkip);
  attrs.set("count", count);
  const Tensor skipped = Tensor::empty({}, DType::I64, Device{});
  *WritableHostView(skipped).as<std::int64_t>() = count;
  note(node_of(kSkip, Form::Plain, {}, attrs), {&skipped, 1});
}

// Draws in the second run of a checkpoint are those of the first. False: this is no second run.
bool Recorder::note_drawn_again(Inputs results) {
  if (!runs_again_) return false;
  const tape::Recompute* const again = checkpoint();
  if (again == nullptr || !again->is_running_again()) {
    stop_noting(
        "random numbers are drawn by a transform, or another checkpoint, within a checkpoint: draw them "
        "before");
    return true;
  }
  CheckpointDraws& drawn = drawn_[again->id()];
  for (const Tensor& each : results) {
    const Tensor first = drawn.next < drawn.results.size() ? drawn.results[drawn.next++] : Tensor();
    const int id = first && first.type() == each.type() ? recall(first) : Operand::kAbsent;
    if (id != Operand::kAbsent) {
      copied(each, id);
      continue;
    }
    stop_noting(
        "a checkpoint draws other random numbers when backward runs it again: it must do the same each time");
    return true;
  }
  return true;
}

}  // namespace kiln::jit

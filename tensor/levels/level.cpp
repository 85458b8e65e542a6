#include "tensor/levels/level.h"

#include <atomic>

#include "tensor/tape/mode.h"
#include "tensor/tape/record.h"
#include "tensor/view.h"

namespace kiln::levels {

thread_local constinit Level* top = nullptr;

namespace {

constexpr std::string_view kTransforms[] = {"grad",   "value_and_grad", "vjp",  "linearize",  "jacrev", "jvp",
                                            "jacfwd", "hessian",        "vmap", "checkpoint", "capture"};
constexpr LevelId kDigits = 16;  // the last of which says the transform
static_assert(std::size(kTransforms) == static_cast<std::size_t>(Transform::Trace) + 1 &&
              std::size(kTransforms) <= kDigits);

}  // namespace

LevelId new_level(Transform transform) {
  static std::atomic<LevelId> next{1};
  return next.fetch_add(1, std::memory_order_relaxed) * kDigits + static_cast<LevelId>(transform);
}

std::string_view transform_name(Transform transform) {
  return kTransforms[static_cast<std::size_t>(transform)];
}
std::string_view transform_name(LevelId level) { return kTransforms[level % kDigits]; }

bool is_live(LevelId id) {
  for (const Level* level = top; level != nullptr; level = level->below()) {
    if (level->id() == id) return true;
  }
  return false;
}

Level::Level(LevelKind kind, LevelId id)
    : id_(id), kind_(kind), below_(top), recording_before_(tape::recording) {
  top = this;
}

Level::~Level() { top = below_; }

void Level::check_target(const Op& op, const Tensor& x) const {
  if (owns(x) && !wrapper_of(x)->captured) return;
  throw OpError(ErrorKind::Autograd,
                inplace_name(op) + ": this " + to_string(x.type()) + " is " +
                    (owns(x) ? "a view of a tensor " : "") + "captured from outside of " + transform() +
                    ", which cannot differentiate a write to it",
                {0}, "write to a copy: x.clone(), or pass it as an argument and return it");
}

Tensors Level::compute(const Op& op, Inputs inputs, const Attrs& attrs) {
  SmallVector<Tensor, 4> values;
  for (const Tensor& input : inputs) values.push_back(value_below(*this, input));
  Tensors outputs;
  {
    const Below below(*this);
    outputs = kiln::bind(op, values, attrs);
  }
  const bool is_view = op.view != nullptr;
  const bool of_captured = is_view && (!owns(inputs[0]) || wrapper_of(inputs[0])->captured);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    std::size_t same = 0;
    while (same < values.size() && !(values[same] && values[same].is_same(outputs[k]))) ++same;
    const bool is_input = same < values.size();
    if (is_input && owns(inputs[same])) {
      outputs[k] = inputs[same];
      continue;
    }
    outputs[k] = wrap(std::move(outputs[k]), {}, of_captured || is_input);
    if (is_view) link_view(op, inputs[0], attrs, static_cast<int>(k), outputs[k]);
  }
  return outputs;
}

void Level::compute_inplace(const Op& op, Inputs inputs, const Attrs& attrs) {
  SmallVector<Tensor, 4> values;
  for (const Tensor& input : inputs) values.push_back(value_below(*this, input));
  const Below below(*this);
  kiln::bind_inplace(op, values, attrs);
}

Below::Below(const Level& level) : top_(top), recording_(tape::recording) {
  top = level.below_;
  // Whether to record is asked of the level that records; the others pass the answer on.
  if (level.kind_ == LevelKind::Grad) tape::recording = level.recording_before_;
}

Below::~Below() {
  top = top_;
  tape::recording = recording_;
}

AtLevelOf::AtLevelOf(const Tensor& x) : AtLevelOf(Inputs(&x, 1), false) {}
AtLevelOf::AtLevelOf(Inputs tensors) : AtLevelOf(tensors, true) {}

AtLevelOf::AtLevelOf(Inputs tensors, bool noted) : top_(top) {
  while (top != nullptr && !(noted && top->notes_plain())) {
    for (const Tensor& x : tensors) {
      if (top->owns(x)) return;
    }
    top = top->below();
  }
}

AtLevelOf::~AtLevelOf() { top = top_; }

Tensor Level::rearrange(const Op& op, Inputs inputs, const Attrs& attrs) {
  return tape::rearrange(op, inputs, attrs);
}

Tensor Level::adopt(Tensor made) {
  {
    const Below below(*this);
    made = levels::adopt(std::move(made));
  }
  return wrap(std::move(made));
}

Tensor adopt(Tensor made) { return top == nullptr ? made : top->adopt(std::move(made)); }

void announce(std::string_view what) {
  for (Level* level = top; level != nullptr; level = level->below()) level->stop_noting(what);
}

void announce_derivative(const tape::Node* node) {
  for (Level* level = top; level != nullptr; level = level->below()) level->differentiates(node);
}

void announce_gathering(const tape::Node* node) {
  for (Level* level = top; level != nullptr; level = level->below()) level->gathers(node);
}

void announce_again(const tape::Recompute* checkpoint) {
  for (Level* level = top; level != nullptr; level = level->below()) level->runs_again(checkpoint);
}

void announce_step(const tape::Recompute& checkpoint, std::size_t step) {
  for (Level* level = top; level != nullptr; level = level->below()) level->begins_step(checkpoint, step);
}

void rewind_draws(const Generator& before) {
  if (generator().seed == before.seed)
    return skip_draws(static_cast<std::int64_t>(before.offset - generator().offset));
  announce("a seed is set for some of the examples");
  generator() = before;
}

void skip_draws(std::int64_t count) {
  if (count == 0) return;
  for (Level* level = top; level != nullptr; level = level->below()) level->skips_draws(count);
  generator().offset += static_cast<std::uint64_t>(count);
}

void announce_kept(const Tensor& x) {
  for (Level* level = top; level != nullptr; level = level->below()) level->keeps(x);
}

}  // namespace kiln::levels

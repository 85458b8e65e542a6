// Owns the stack of levels: each transform under way is one, and `bind` hands every op to the top one, which
// runs its rule with the ops of the level below.
#pragma once

#include "tensor/levels/wrapper.h"
#include "tensor/op.h"
#include "tensor/random.h"

namespace kiln::tape {
class Node;
class Recompute;
}  // namespace kiln::tape

namespace kiln::levels {

class Level;
// The innermost transform of this thread; null: none, ops run as they are. Read on every op.
extern thread_local constinit Level* top;

// On the stack from its making to its end.
class Level {
 public:
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

  LevelId id() const { return id_; }
  // What the program called.
  std::string transform() const { return std::string(transform_name(id_)); }
  LevelKind kind() const { return kind_; }
  Level* below() const { return below_; }
  bool owns(const Tensor& x) const { return x && belongs_to(x, id_); }

  // As kiln::bind at this level.
  virtual Tensors bind(const Op& op, Inputs inputs, const Attrs& attrs) = 0;
  // As kiln::bind_inplace, which has checked shapes, dtypes and overlap; `result` is the op's own type.
  virtual Tensor write(const Op& op, Inputs inputs, const Attrs& attrs, const TensorType& result) = 0;
  // The `_` form of an op that changes only the layout.
  virtual Tensor rearrange(const Op& op, Inputs inputs, const Attrs& attrs);
  // A tensor whose memory was filled by hand, as one that was made here.
  virtual Tensor adopt(Tensor made);
  // The program does what no op stands for: a level that notes ops cannot go on from here.
  virtual void stop_noting(std::string_view) {}
  // Does it note ops on plain tensors, which belong to no level? It is the lowest, then.
  virtual bool notes_plain() const { return false; }
  // The ops to come are the derivative of this node of the tape; null: no longer.
  virtual void differentiates(const tape::Node*) {}
  // Likewise, what brings gradients to an output of this node: their sum, what hooks do with it, the gradient
  // that a backward begins with.
  virtual void gathers(const tape::Node*) {}
  // The ops to come are those of a checkpoint that runs again, for what the derivative under way reads; null:
  // no longer.
  virtual void runs_again(const tape::Recompute*) {}
  // A step of a checkpoint begins, in its first run or once more: what is noted comes from the same place.
  virtual void begins_step(const tape::Recompute&, std::size_t) {}
  // The generator moves by this many draws, which no op takes.
  virtual void skips_draws(std::int64_t) {}
  // A tape keeps the value of a plain tensor, and will ask for it by another tensor over the same memory.
  virtual void keeps(const Tensor&) {}
  // The op on what its inputs stand for, outside of this level; the results belong to it again. Derivatives
  // are not looked at.
  Tensors compute(const Op& op, Inputs inputs, const Attrs& attrs);
  void compute_inplace(const Op& op, Inputs inputs, const Attrs& attrs);

 protected:
  // `id` of a level that ended: enters it again.
  Level(LevelKind kind, LevelId id);
  virtual ~Level();

  Tensor wrap(Tensor value, Tensor tangent = {}, bool captured = false) const {
    return levels::wrap(id_, kind_, std::move(value), std::move(tangent), captured);
  }
  // Throws OpError (Autograd, naming operand 0) unless x was made at this level.
  void check_target(const Op& op, const Tensor& x) const;

 private:
  friend class Below;
  LevelId id_;
  LevelKind kind_;
  Level* below_;
  bool recording_before_;  // whether the tape recorded when the level was entered
};

LevelId new_level(Transform transform);
// Is this level on the stack?
bool is_live(LevelId id);
// What x stands for one level below `level`: x itself when it does not belong to it.
inline const Tensor& value_below(const Level& level, const Tensor& x) {
  return level.owns(x) ? wrapper_of(x)->value : x;
}

// Within its scope the level is off the stack, and the tape records as it did when the level was entered.
class Below {
 public:
  explicit Below(const Level& level);
  ~Below();
  Below(const Below&) = delete;
  Below& operator=(const Below&) = delete;

 private:
  Level* top_;
  bool recording_;
};

// Within its scope the level of the tensor is the top one: for what asks a tensor of an outer level.
class AtLevelOf {
 public:
  explicit AtLevelOf(const Tensor& x);
  // The innermost level among them. Under one that notes ops those of plain tensors go on being noted.
  explicit AtLevelOf(Inputs tensors);
  ~AtLevelOf();
  AtLevelOf(const AtLevelOf&) = delete;
  AtLevelOf& operator=(const AtLevelOf&) = delete;

 private:
  AtLevelOf(Inputs tensors, bool noted);
  Level* top_;
};

// A tensor whose memory was just filled by hand becomes one that was made at the top level.
Tensor adopt(Tensor made);
// Tells all levels under way that something happens that no op stands for, and what.
void announce(std::string_view what);
// As the functions of Level, to all levels under way.
void announce_derivative(const tape::Node* node);
void announce_gathering(const tape::Node* node);
void announce_again(const tape::Recompute* checkpoint);
void announce_step(const tape::Recompute& checkpoint, std::size_t step);
// Within its scope what runs is the gradient of an output of this node.
class Gathering {
 public:
  explicit Gathering(const tape::Node& node) : is_seen_(top != nullptr) {
    if (is_seen_) announce_gathering(&node);
  }
  ~Gathering() {
    if (is_seen_) announce_gathering(nullptr);
  }
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;

 private:
  bool is_seen_;
};
void announce_kept(const Tensor& x);
// Sets the generator back to what it was, or ahead by a number of draws: rules that run an op once for each
// example draw the same for all of them, or leave out what belongs to others. Levels that note ops note it,
// so that a graph draws as the recorded call did.
void rewind_draws(const Generator& before);
void skip_draws(std::int64_t count);
// The program reads elements of x. Numbers of its own it has as such.
inline void announce_read(const Tensor& x) {
  if (top != nullptr && !x.is_number()) [[unlikely]]
    announce("the elements of a tensor are read");
}

}  // namespace kiln::levels

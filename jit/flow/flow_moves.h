// Owns what the way back through the steps of a flow does with gradients: which tensors give theirs to which
// others. What comes to where is worked out over this list, and steps are written from it.
#pragma once

#include <vector>

#include "jit/flow/flow_views.h"

namespace kiln::jit {

// The gradients of the tensors `from` are taken, which leaves none there, and what is made of them is added
// to those of the tensors `to`.
struct GradientMove {
  enum class Kind : std::uint8_t {
    Part,     // of a view: it is added to the part of another tensor that the view shows
    Rule,     // of the step's results, by the derivative of the step, to its operands
    Write,    // of a root, of which the step writes all or a part, and of the view that it writes through, if
              // that is another tensor; by the derivative of what is computed, to the step's operands
    Nowhere,  // of what the step makes of nothing that carries a derivative
  };
  Kind kind = Kind::Nowhere;
  std::vector<ValueId> from, to;
};

class FlowMoves {
 public:
  // All of these must outlive the moves. Throws OpError (Capture) where gradients of a written tensor would
  // be added through a view that shows an element twice.
  FlowMoves(const FlowGraph& flow, const FlowActivity& activity, const FlowViews& views);

  // Of a step, in the order in which the way back does them.
  const std::vector<GradientMove>& of_step(std::size_t block, std::size_t step) const {
    return moves_[block][step];
  }

 private:
  std::vector<GradientMove> find(std::size_t block, std::size_t step) const;
  std::vector<GradientMove> of_views(std::size_t block, std::size_t step) const;
  bool shows_once(const Node& view) const;
  void check_parts(ValueId view) const;
  ValueId shown_by(std::size_t block, std::size_t step, ValueId view) const;
  bool is_read_between(std::size_t block, std::size_t step, ValueId made, ValueId root) const;
  std::vector<ValueId> active_operands(const Node& node) const;

  const FlowGraph& flow_;
  const FlowActivity& activity_;
  const FlowViews& views_;
  std::vector<std::vector<std::vector<GradientMove>>> moves_;  // by block and step
};

// Does the step record a derivative by which gradients of its results, or of what it writes, are moved?
bool is_differentiated(const FlowActivity& activity, const Node& node);
// Does the step leave nothing of its first operand, as `copy_`?
bool replaces_target(const Node& node);
// Is each element of a tensor, of which it is a view, seen through the view, as the tape knows it?
bool shows_all(const FlowActivity& activity, ValueId view, ValueId shown);

}  // namespace kiln::jit

// Owns what is left of histories after a backward: capture asks it what a backward reaches, and gives results
// of a compiled step the history that they have in eager, which no longer holds any value.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tensor/tape/op_node.h"

namespace kiln::tape {

// What a walk from these tensors would come to. Hooks on what was made since are called by it.
struct Reach {
  std::vector<Tensor> leaves;
  std::vector<Hook> hooks;    // on leaves
  std::string_view obstacle;  // why what it does cannot be told from ops alone; empty: it can
};
// `since`: nodes with smaller numbers were there before.
Reach reach_of(std::span<const Tensor> tensors, std::uint64_t since);

// A leaf that requires grad, to whose gradient nobody listens but hooks that are given it. Nothing: it is
// none.
std::optional<std::vector<int>> hooks_of_leaf(const Tensor& x);
// Is it one with these hooks, in this order?
bool is_leaf_with(const Tensor& x, std::span<const int> hooks);

class SpentHistories {
 public:
  // Nothing when some history still holds values, or a derivative of the user's.
  static std::optional<SpentHistories> of(std::span<const Tensor> tensors);

  // Lets go of the leaves that they lead to; they are given again.
  std::vector<Tensor> take_leaves() { return std::exchange(leaves_, {}); }
  bool empty() const { return given_.empty(); }
  // Does what they do depend on sizes of the tensors that they were read from: does a gradient that comes to
  // a leaf, or to a tensor that `varies`, go through a step that still works?
  bool keep_sizes(const std::vector<bool>& varies) const;
  void give(Inputs tensors, Inputs leaves) const;

 private:
  struct To {
    enum class Kind : std::uint8_t { Constant, Leaf, Step };
    Kind kind = Kind::Constant;
    std::uint32_t at = 0;
    std::uint32_t output = 0;
  };
  struct Step {
    OpNode::Bare bare;
    std::vector<To> edges;
  };
  struct Given {
    std::size_t tensor;
    To to;
  };
  class Reader;

  std::vector<Tensor> leaves_;
  std::vector<Step> steps_;  // inputs before what is made of them
  std::vector<Given> given_;
};

}  // namespace kiln::tape

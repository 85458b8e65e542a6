// Owns freed histories, which a backward has left without saved values: capture asks what a backward reaches,
// and gives results of a compiled step the freed history that they have in eager code.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tensor/tape/op_node.h"

namespace kiln::tape {

// What a backward from these tensors reaches. Hooks on tensors computed since the capture began run within
// it.
struct Reach {
  std::vector<Tensor> leaves;
  std::vector<Hook> hooks;  // on leaves
  std::vector<PostHook> post_hooks{};
  std::string_view obstacle;  // why its effects are not those of ops alone; empty: they are
};
// `since`: nodes with smaller sequence numbers existed before the capture.
Reach reach_of(std::span<const Tensor> tensors, std::uint64_t since);

// The hooks on a leaf that requires grad, where nothing but such hooks observes its gradient. nullopt for any
// other tensor.
std::optional<std::vector<int>> hooks_of_leaf(const Tensor& x);
// Is x such a leaf with these hooks, in this order?
bool is_leaf_with(const Tensor& x, std::span<const int> hooks);

class FreedHistories {
 public:
  // nullopt when some history still holds values, or a derivative written by the user.
  static std::optional<FreedHistories> of(std::span<const Tensor> tensors);

  // Takes out the leaves that the histories lead to; `give` is handed them again.
  std::vector<Tensor> take_leaves() { return std::exchange(leaves_, {}); }
  bool empty() const { return tensor_edges_.empty(); }
  // Do the histories depend on the sizes of the tensors they were read from? They do where a gradient reaches
  // a leaf, or a tensor that `varies`, through a step whose values were not freed.
  bool keep_sizes(const std::vector<bool>& varies) const;
  // Sizes that follow symbols are those at these values from here on.
  void settle(const SymbolValues& values);
  // Gives the tensors these histories, which lead to `leaves`.
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
  struct TensorEdge {
    std::size_t tensor;
    To to;
  };
  class Reader;

  std::vector<Tensor> leaves_;
  std::vector<Step> steps_;  // inputs before the steps that read them
  std::vector<TensorEdge> tensor_edges_;
};

}  // namespace kiln::tape

// Owns a program that is differentiated ahead of time: a forward graph, whose results get one node of the
// tape, and the backward graphs that this node runs.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "jit/pair_backward.h"
#include "tensor/tape/node.h"

namespace kiln::jit {

// An output of the node: what leaves the program, or what that is a view of.
struct Port {
  Edge edge;
  Type type;
  std::string name;
  std::optional<Result> result;
};

class Pair : public std::enable_shared_from_this<Pair> {
 public:
  // `wanted`: the inputs that require gradients. Throws OpError with the reason where the program has no
  // graph of its gradients, or where one node would not do as the many of the tape do.
  static std::shared_ptr<const Pair> make(const Graph& captured, const std::vector<bool>& wanted,
                                          const PairOptions& options);

  // Does one node stand for what the tape would remember of a call with these arguments, here and now?
  bool holds_for(Inputs arguments) const;
  // Runs the forward graph and links what leaves it to the arguments. Only where it holds.
  Tensors run(Inputs arguments, const SymbolValues& symbols) const;

  const Joint& joint() const { return backwards_->joint(); }
  const Partition& parts() const { return backwards_->parts(); }

 private:
  Pair(const Graph& captured, const std::vector<bool>& wanted, const PairOptions& options);
  void find_ports();
  void refuse_what_differs() const;
  std::vector<bool> above(const Edge& edge) const;
  void link(const Ref<tape::Node>& node, Inputs arguments, const Tensors& made) const;

  std::shared_ptr<const Derivation> derivation_;
  std::vector<Port> ports_;
  std::vector<int> written_;  // inputs
  std::shared_ptr<const Backwards> backwards_;
  std::shared_ptr<const Executable> forward_;
};

}  // namespace kiln::jit

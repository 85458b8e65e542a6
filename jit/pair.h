// Owns a program that is differentiated ahead of time: a forward graph, whose results get nodes of the tape,
// and the backward graphs that these run.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "jit/pair_backward.h"
#include "jit/view_origins.h"
#include "tensor/tape/node.h"

namespace kiln::jit {

// What leaves the program, or what that is a view of, as an output of a node.
struct Port {
  Edge edge;
  std::optional<Result> result;
  std::size_t node = 0;  // by part of the walk back
  std::uint32_t output = 0;
};

class Pair : public std::enable_shared_from_this<Pair> {
 public:
  // `wanted`: the inputs that require gradients. Throws OpError with the reason where the program has no
  // graph of its gradients, or where these nodes would not do as those of the tape do.
  static std::shared_ptr<const Pair> make(const Graph& captured, const std::vector<bool>& wanted,
                                          const PairOptions& options);

  // Why the nodes would not stand for what the tape would remember of a call with these arguments, here and
  // now; empty: they do.
  std::string_view obstacle(Inputs arguments) const;
  bool holds_for(Inputs arguments) const { return obstacle(arguments).empty(); }
  // Runs the forward graph and links what leaves it to the arguments. Only where it holds.
  Tensors run(Inputs arguments, const SymbolValues& symbols) const;

  // Is forward made, behind the interpreter?
  bool is_ready() const { return forward_->is_ready(); }

  const Joint& joint() const { return backwards_->joint(); }
  // Of the kernels that there are so far: those of backward are made when it is first needed. Waits for those
  // of forward.
  std::size_t code_bytes() const;

 private:
  Pair(const Graph& captured, const std::vector<bool>& wanted, const PairOptions& options);
  void find_bases();
  void refuse_what_differs(const Graph& program) const;
  void place_ports();
  std::vector<Ref<tape::Node>> make_nodes(std::span<const tape::Edge> histories, const SymbolValues& symbols,
                                          Inputs saved) const;
  void link(std::span<const Ref<tape::Node>> nodes, Inputs arguments, const Tensors& made) const;

  std::shared_ptr<const Derivation> derivation_;
  std::vector<Port> ports_;
  std::vector<int> written_;  // inputs
  std::shared_ptr<const Backwards> backwards_;
  std::unique_ptr<const PendingExecutable> forward_;
  ViewOrigins origins_;
};

}  // namespace kiln::jit

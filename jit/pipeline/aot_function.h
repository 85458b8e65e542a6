// Owns a function that is differentiated and compiled ahead of time: a forward graph, whose results get nodes
// of the tape, and the backward graphs that these nodes run.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "jit/pair_backward.h"
#include "jit/trace/view_origins.h"
#include "tensor/tape/node.h"

namespace kiln::jit {

// A result of the program, or the base of one that is a view, as an output of a node.
struct Port {
  Edge edge;
  std::optional<Result> result;
  std::size_t node = 0;  // by part of the backward pass
  std::uint32_t output = 0;
};

class AotFunction : public std::enable_shared_from_this<AotFunction> {
 public:
  // `wanted`: the inputs that require gradients. Throws OpError with the reason where the program has no
  // graph of its gradients, or where the compiled nodes would behave otherwise than the tape's nodes.
  static std::shared_ptr<const AotFunction> make(const Graph& captured, const std::vector<bool>& wanted,
                                                 const PairOptions& options);

  // Why the compiled nodes cannot replace the nodes that the tape would record for a call with these
  // arguments in the present mode; empty: they can.
  std::string_view obstacle(Inputs arguments) const;
  bool holds_for(Inputs arguments) const { return obstacle(arguments).empty(); }
  // Runs the forward graph and links its results to the histories of the arguments. Needs
  // holds_for(arguments).
  Tensors run(Inputs arguments, const SymbolValues& symbols) const;

  // Has the forward graph been compiled, behind the interpreter?
  bool is_ready() const { return forward_->is_ready(); }

  const Joint& joint() const { return backwards_->joint(); }
  // Of the kernels compiled so far: those of backward are compiled when it first runs. Waits for the forward
  // kernels.
  std::size_t code_bytes() const;
  // How the collectives of the forward graph run, as `collectives_text` says it. Waits for the forward
  // kernels.
  std::string collectives() const;

 private:
  AotFunction(const Graph& captured, const std::vector<bool>& wanted, const PairOptions& options);
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

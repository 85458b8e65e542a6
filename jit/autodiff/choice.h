// Owns the choice of what is kept for backward: facts of a joint graph, and the cut.
#pragma once

#include <set>
#include <vector>

#include "jit/autodiff/partition.h"

namespace kiln::jit {

// The cost of recomputing a node in backward.
enum class RecomputeCost : std::uint8_t {
  Free,        // a view, or made of nothing
  Cheap,       // elementwise and the like, without memory of its own once fused
  Reduction,   // of many elements
  Library,     // matmul, convolution, sort, factorizations
  Gather,      // loads and stores at computed places
  Chain,       // cheap, at the end of a long chain of such
  Checkpoint,  // costly, but the program asks for it
  Random,      // another draw
  Collective,  // another call that all ranks must make
  Own,         // a function of the program with a derivative of its own
};

class JointFacts {
 public:
  explicit JointFacts(const Joint& joint);

  const Graph& graph;
  int outputs;        // how many are the program's
  std::size_t given;  // the last inputs are gradients of this many results

  std::vector<int> producers;
  std::vector<bool> of_gradient;         // per value: depends on a gradient that comes in
  std::vector<bool> forward_nodes;       // the program itself
  std::vector<bool> backward_nodes;      // what gradients need: of the program too
  std::vector<bool> wanted;              // per value: backward reads it, or recomputes with it
  std::vector<RecomputeCost> recompute;  // per node: its cost there
  std::vector<std::int64_t> bytes;       // per value, at the hints
  std::vector<ValueId> root;             // per value: the value whose memory it shares
  std::vector<bool> read_by_place;       // per value: a view of it counts from the start of the storage
  std::vector<bool> overwritten;         // per value: by an effect at the end of the program

  const Node* producer(ValueId id) const;
  // Per node: it belongs to the derivative, and gradients or their errors need it.
  std::vector<bool> acting() const;
  // Values that nodes of the derivative read, and gradients that are values of the program.
  std::vector<ValueId> read_by_derivative() const;

 private:
  void find_dependence();
  void find_needed(std::size_t program_nodes);
  void find_memory();
  void find_costs();
};

// The values to save for backward; views are saved as copies. `lifted`: nodes that may be recomputed although
// that is costly.
struct Choice {
  std::vector<ValueId> saved;
  std::set<int> lifted;
};
Choice choose_cut(const JointFacts& facts, double memory_budget);
Choice choose_all(const JointFacts& facts);
std::int64_t bytes_of(const JointFacts& facts, const std::vector<ValueId>& saved);
// Is a copy kept in place of the value itself?
bool keeps_copy(const JointFacts& facts, ValueId id);
// The type that backward sees: a copy is contiguous.
Type kept_type(const JointFacts& facts, ValueId id);

}  // namespace kiln::jit

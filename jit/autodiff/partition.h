// Owns the partition of a joint graph: the forward graph, the backward graph, and the values saved in
// between.
#pragma once

#include <string>
#include <vector>

#include "jit/autodiff/differentiate.h"
#include "jit/graph/subgraph.h"

namespace kiln::jit {

enum class Strategy : std::uint8_t {
  MinimumCut,  // the fewest bytes, where recomputing is cheap
  SaveAll,     // the values that derivative rules read, as the tape does
};

struct PartitionOptions {
  Strategy strategy = Strategy::MinimumCut;
  // The part of the minimum cut's bytes that may be kept. Below 1, costly nodes are recomputed too, first
  // those that save most bytes for their cost. At 0, all nodes are that give the same again, so not random
  // draws.
  double memory_budget = 1;
};

// A tensor that is kept for backward.
struct SavedValue {
  std::string name;        // in the forward graph
  std::int64_t bytes = 0;  // of the allocation that it keeps, at the hints
  bool is_copy = false;    // of a value that is written later, or of a small part of one that is not kept
  std::string why;
};
// A node of the forward graph that backward recomputes.
struct Recomputation {
  std::string name;
  std::string op;
  std::int64_t bytes = 0;  // that need not be saved
  std::string why;
};

struct PartitionReport {
  std::vector<SavedValue> saved;
  std::vector<Recomputation> recomputed;
  std::vector<std::string> sizes;   // symbols that are kept as numbers
  std::int64_t bytes_save_all = 0;  // that SaveAll would keep
  std::int64_t bytes_saved = 0;
};
// A screen of text: saved and recomputed values, the reasons, bytes before and after.
std::string to_string(const PartitionReport& report);

// The forward graph has the program's inputs, outputs and effects, and saves values. The backward graph takes
// the symbols that no tensor among its inputs has as a size (`sizes`; numbers of Role::Saved with the names
// of the symbols), then the saved values, in order (Role::Saved), then the gradients (Role::Grad) in the
// order of `Joint::given`; it returns the gradients of `Joint::wanted`. The forward graph saves values as
// they are before its effects.
struct Partition {
  Graph forward, backward;
  PartitionReport report;
  std::vector<ValueId> kept;  // the saved values, as values of the joint graph
};
Partition partition(const Joint& joint, const PartitionOptions& options = {});

// The backward graph of a joint graph from values that are saved already; these must suffice. Removes from
// the list those that it does not read.
Subgraph backward_from(const Joint& joint, std::vector<ValueId>& kept);

}  // namespace kiln::jit

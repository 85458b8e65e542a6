// Owns taking a joint graph apart: what runs forward, what runs backward, and what is kept in between.
#pragma once

#include <string>
#include <vector>

#include "jit/differentiate.h"
#include "jit/subgraph.h"

namespace kiln::jit {

enum class Strategy : std::uint8_t {
  MinimumCut,  // the fewest bytes, where recomputing is cheap
  SaveAll,     // what the rules of the derivatives ask for, as the tape does
};

struct PartitionOptions {
  Strategy strategy = Strategy::MinimumCut;
  // Of the minimum cut: the part of its bytes that may be kept. Below 1, what is not cheap is recomputed too,
  // where it saves most for what it costs first; at 0, all that a second run gives again, which random draws
  // are not.
  double memory_budget = 1;
};

// A tensor that is kept for backward.
struct SavedValue {
  std::string name;        // in the forward graph
  std::int64_t bytes = 0;  // of the allocation that it keeps, at the hints
  bool is_copy = false;    // of what is written later, or of a small part of what is not kept
  std::string why;
};
// A node of the forward graph that runs again.
struct Recomputation {
  std::string name;
  std::string op;
  std::int64_t bytes = 0;  // that need not be kept
  std::string why;
};

struct PartitionReport {
  std::vector<SavedValue> saved;
  std::vector<Recomputation> recomputed;
  std::vector<std::string> sizes;   // symbols that are kept as numbers
  std::int64_t bytes_save_all = 0;  // what SaveAll would keep
  std::int64_t bytes_saved = 0;
};
// A screen of text: what is kept and recomputed, why, bytes before and after.
std::string to_string(const PartitionReport& report);

// The forward graph has the program's inputs, outputs and effects, and saves values. The backward graph takes
// the symbols that no tensor among its inputs has as a size (`sizes`; numbers of Role::Saved with the names
// of the symbols), then what was saved, in order (Role::Saved), then the gradients (Role::Grad) in the order
// of `Joint::given`; it returns the gradients of `Joint::wanted`. What the forward graph saves is as it was
// before its effects.
struct Partition {
  Graph forward, backward;
  PartitionReport report;
  std::vector<ValueId> kept;  // what is saved, as values of the joint graph
};
Partition partition(const Joint& joint, const PartitionOptions& options = {});

// The backward graph of a joint graph from values that were kept already, which must suffice. Those that it
// does not read are taken off the list.
Subgraph backward_from(const Joint& joint, std::vector<ValueId>& kept);

}  // namespace kiln::jit

// Owns the backward graphs of one program: one for each choice of gradients that come in and are asked for,
// compiled when it is first needed.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "jit/autodiff/partition.h"
#include "jit/autodiff/walk_parts.h"
#include "jit/runtime/pending_executable.h"

namespace kiln::jit {

struct PairOptions {
  bool fused = false;  // kernels, in place of one op after the other
  PartitionOptions partition;
};

// A part of the walk back, which is one node of the tape.
struct BackwardPart : WalkPart {
  std::vector<Type> types;         // of its outputs
  bool all_lead = true;            // from all outputs to targets
  std::vector<int> savers;         // those of its steps that keep something until backward
  std::vector<std::size_t> saved;  // what it reads of what is saved, by number
};

// Of which part; which gradients come in, by where; which are asked for, and which of those are added to a
// sum that is under way, by `WalkPart::targets`.
struct BackwardRequest {
  std::size_t part = 0;
  SmallVector<std::pair<int, int>, 4> incoming;  // node and output of the program's tape
  SmallVector<bool, 16> wanted, onto;
  friend bool operator<(const BackwardRequest& a, const BackwardRequest& b) {
    if (a.part != b.part) return a.part < b.part;
    const auto order = [](const auto& x, const auto& y) {
      return std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end());
    };
    if (const auto by = order(a.incoming, b.incoming); by != 0) return by < 0;
    if (const auto by = order(a.wanted, b.wanted); by != 0) return by < 0;
    return order(a.onto, b.onto) < 0;
  }
};

// A graph over some of the values that were saved, by number. Its inputs are numbers for `sizes`, then those,
// then the gradients.
struct OverSaved {
  std::shared_ptr<const Executable> run;
  std::vector<std::string> sizes;
  std::vector<std::size_t> saved;
};

struct BackwardGraph {
  std::vector<int> savers;  // nodes of the tape whose rules run and read saved values, in order
  OverSaved compiled;
};
// For gradients that have a history of their own: first all values of the program that the rules read, then
// the rules, op by op under the tape.
struct RecordedBackward {
  OverSaved values;
  std::vector<Edge> histories;  // of what `values` gives
  std::vector<Type> types;      // likewise
  OverSaved rules;              // its other inputs are what `values` gives, before the gradients
};

class Backwards {
 public:
  // `incoming`: gradients for which enough is kept. `results`: where they come from; `bases`: where what they
  // are views of does. Throws OpError, as `differentiate`.
  Backwards(std::shared_ptr<const Derivation> derivation, std::span<const Derivation::Incoming> incoming,
            std::span<const Edge> results, std::span<const Edge> bases, const PairOptions& options);

  const Joint& joint() const { return joint_; }
  const Partition& partition() const { return partition_; }
  // In the order of the walk.
  const std::vector<BackwardPart>& parts() const { return parts_; }
  // The part of this step, and its place in the walk.
  std::size_t part_of(int n) const { return places_[static_cast<std::size_t>(n)].part; }
  std::size_t turn_of(int n) const { return places_[static_cast<std::size_t>(n)].turn; }
  const Tape& tape() const { return derivation_->tape(); }

  // Of the kernels of all graphs that were asked for.
  std::size_t code_bytes() const;
  // `op_by_op`: inside of transforms, which see every op.
  const BackwardGraph& graph(const BackwardRequest& request, bool op_by_op) const;
  const RecordedBackward& recorded(const BackwardRequest& request) const;

 private:
  Joint joint_for(const BackwardRequest& request) const;
  std::vector<std::size_t> saved_for(std::size_t part) const;
  // The values of `joint` that are kept; who reads the same as one of them reads that one from here on.
  std::vector<ValueId> kept_in(Joint& joint) const;
  RecordedBackward make_recorded(Joint joint) const;
  static void fill(OverSaved& part, Subgraph made);
  void find_parts(std::vector<WalkPart> walk);
  void find_histories();
  void check_complete() const;

  std::shared_ptr<const Derivation> derivation_;
  PairOptions options_;
  Joint joint_;
  Partition partition_;
  std::map<ValueId, Edge> history_;  // of values of the functional graph, where they have one
  std::vector<BackwardPart> parts_;
  struct Place {
    std::size_t part = 0, turn = 0;
  };
  std::vector<Place> places_;  // by node of the tape
  mutable std::mutex mutex_;
  mutable std::map<std::pair<BackwardRequest, bool>, std::unique_ptr<const BackwardGraph>> graphs_;
  mutable std::map<BackwardRequest, std::unique_ptr<const RecordedBackward>> recorded_;
};

}  // namespace kiln::jit

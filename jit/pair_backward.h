// Owns the backward graphs of one program: one for each choice of gradients that come in and are asked for,
// compiled when it is first needed.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "jit/executable.h"
#include "jit/partition.h"

namespace kiln::jit {

struct PairOptions {
  bool fused = false;  // kernels, in place of one op after the other
  PartitionOptions partition;
};
// Op by op or, where that is asked for and can be, as kernels.
Graph prepared_part(const Graph& graph, bool fused);

// Which gradients come in, by where; which are asked for, and which of those are added to a sum that is under
// way, by `Joint::wanted`.
struct BackwardRequest {
  std::vector<std::pair<int, int>> incoming;  // node and output of the program's tape
  std::vector<bool> wanted, onto;
  friend bool operator<(const BackwardRequest& a, const BackwardRequest& b) {
    return std::tie(a.incoming, a.wanted, a.onto) < std::tie(b.incoming, b.wanted, b.onto);
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
  // `incoming`: gradients of what leaves the program. Throws OpError, as `differentiate`.
  Backwards(std::shared_ptr<const Derivation> derivation, std::span<const Derivation::Incoming> incoming,
            const PairOptions& options);

  const Joint& joint() const { return joint_; }
  const Partition& parts() const { return parts_; }
  // Wanted inputs to which several gradients lead.
  const std::vector<bool>& summed() const { return summed_; }
  // Nodes of the tape that keep something until backward.
  const std::vector<int>& savers() const { return savers_; }
  const Tape& tape() const { return derivation_->tape(); }

  // `op_by_op`: inside of transforms, which see every op.
  const BackwardGraph& graph(const BackwardRequest& request, bool op_by_op) const;
  const RecordedBackward& recorded(const BackwardRequest& request) const;

 private:
  Joint joint_for(const BackwardRequest& request) const;
  std::vector<ValueId> kept_in(const Joint& joint) const;
  RecordedBackward make_recorded(const Joint& joint) const;
  static void fill(OverSaved& part, Excerpt made);
  void find_histories();
  void check_complete() const;

  std::shared_ptr<const Derivation> derivation_;
  PairOptions options_;
  Joint joint_;
  Partition parts_;
  std::map<ValueId, Edge> history_;  // of values of the functional graph, where they have one
  std::vector<bool> summed_;
  std::vector<int> savers_;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<BackwardRequest, bool>, std::unique_ptr<const BackwardGraph>> graphs_;
  mutable std::map<BackwardRequest, std::unique_ptr<const RecordedBackward>> recorded_;
};

}  // namespace kiln::jit

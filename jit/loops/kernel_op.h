// Owns the ops that replace several nodes of one graph: a group, before lowering, and a kernel, with code or
// without. They are not in the op table; the graph owns them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jit/loops/fuse.h"
#include "jit/loops/kernel.h"

namespace kiln::jit {

// The groups of a graph: grouping decides them, lowering reads them.
struct Grouping {
  Graph source;
  Fusion fusion;
};

struct GroupOp : Op {
  std::shared_ptr<const Grouping> grouping;
  std::size_t number;  // of the group
  std::vector<std::string> symbols;
  GroupOp(const Op& row, std::shared_ptr<const Grouping> of, std::size_t group,
          std::vector<std::string> symbols_of)
      : Op(row), grouping(std::move(of)), number(group), symbols(std::move(symbols_of)) {}
};
std::shared_ptr<const Op> make_group_op(std::shared_ptr<const Grouping> grouping, std::size_t number,
                                        std::vector<std::string> symbols);
// Null when the op is no group.
const GroupOp* as_group(const Op& op);

struct KernelOp : Op {
  // The group that the kernel was made from.
  struct Origin {
    std::shared_ptr<const Grouping> grouping;
    std::size_t number;  // of the group
    const Group& group() const { return grouping->fusion.groups[number]; }
  };
  KernelOp(const Op& row, std::unique_ptr<const Kernel> made, Origin from)
      : Op(row), kernel(std::move(made)), origin(std::move(from)) {}
  bool has_code() const { return kernel->parts().code != nullptr; }
  std::unique_ptr<const Kernel> kernel;
  Origin origin;
};
// The kernel is launched by the target of its group. Without code the op refuses to run.
std::shared_ptr<const Op> make_kernel_op(KernelParts parts, KernelOp::Origin origin);
// Null when the op is no kernel.
const KernelOp* as_kernel(const Op& op);

// Throws OpError (Capture) for a graph with groups, or kernels without code.
void refuse_without_code(const Graph& graph);

// A kernel of a fused graph, for those who look into it.
struct FusedKernel {
  const Op* op;  // of its node
  const Target* target;
  const Lowered* lowered;
  const Schedule* schedule;
  const Graph* source;               // the graph that was fused: nodes of loop nests are its nodes
  std::span<const int> nodes;        // of the source that it computes
  std::span<const ValueId> outputs;  // of the source that it gives
  const Codes* code;                 // of all kernels of the graph together; null where it is not made
};
// In order; none for a graph that is not fused. They live as long as the graph's own.
std::vector<FusedKernel> kernels_of(const Graph& fused);
// Those that compile the kernels of a fused graph, each once.
std::vector<const Target*> targets_of(const Graph& fused);

// Notes on how one kernel runs, for the sizes and layouts that the graph was made for.
struct KernelNotes {
  // The input that arrives in pieces while a product computes it, and the product's node in the source; -1:
  // none.
  int input_in_pieces = -1;
  int product = -1;
  std::string shared;                           // "in threads", "in pieces of in0"
  std::vector<std::vector<std::string>> loads;  // by pass: "copied in tiles first"; empty: read in place
  std::vector<std::vector<std::string>> stores;
};
// As each target notes them, in the order of `kernels_of`.
std::vector<KernelNotes> kernel_notes(const Graph& fused);

}  // namespace kiln::jit

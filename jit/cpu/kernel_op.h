// Owns the ops that replace several nodes of one graph: a group, before lowering, and a kernel, with code or
// without. They are not in the op table; the graph owns them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jit/cpu/compiler.h"
#include "jit/cpu/kernel.h"
#include "jit/loops/fuse.h"

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
    std::vector<std::string> symbols;
    std::shared_ptr<const Codes> code;  // of all kernels of the graph; null before they are compiled
  };
  KernelOp(const Op& row, std::unique_ptr<const Kernel> made, Origin from)
      : Op(row), kernel(std::move(made)), origin(std::move(from)) {}
  std::unique_ptr<const Kernel> kernel;
  Origin origin;
};
// `functions`: by pass of the kernel. They are null where there is no code yet; the op refuses to run then.
std::shared_ptr<const Op> make_kernel_op(Lowered lowered, std::vector<KernelFn> functions,
                                         KernelOp::Origin origin);
// Null when the op is no kernel.
const KernelOp* as_kernel(const Op& op);

// Throws OpError (Capture) for a graph with groups, or kernels without code.
void refuse_without_code(const Graph& graph);

class ElementwiseKernel;
// The kernel that is the op's; null when it is no kernel, or one with reductions.
const ElementwiseKernel* elementwise_kernel_of(const Op& op);

// A kernel of a fused graph, for those who look into it.
struct FusedKernel {
  const Op* op;  // of its node
  const Lowered* lowered;
  const Graph* source;               // the graph that was fused: nodes of loop nests are its nodes
  std::span<const int> nodes;        // of the source that it computes
  std::span<const ValueId> outputs;  // likewise, that it gives
  const Codes* code;                 // of all kernels of the graph together; null where it is not made
};
// In order; none for a graph that is not fused. They live as long as the graph's own.
std::vector<FusedKernel> kernels_of(const Graph& fused);

}  // namespace kiln::jit

// Owns the ops that stand for several nodes of one graph: a group, before there are loops, and a kernel, with
// code or without. They are of no table; the graph owns them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/compiler.h"
#include "jit/fuse.h"
#include "jit/kernel.h"

namespace kiln::jit {

// Which nodes of a graph run together: what grouping decides, and lowering reads.
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
  // What the kernel was made from.
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
// `functions`: of the passes of the kernel; null pointers where there is no code yet, and then the op refuses
// to run.
std::shared_ptr<const Op> make_kernel_op(Lowered lowered, std::vector<KernelFn> functions,
                                         KernelOp::Origin origin);
// Null when the op is no kernel.
const KernelOp* as_kernel(const Op& op);

// Throws OpError (Capture) for a graph with groups, or kernels without code.
void refuse_without_code(const Graph& graph);

}  // namespace kiln::jit

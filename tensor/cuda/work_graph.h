// Owns a CUDA graph of some work: all of it is one launch, and kernels may get other arguments each time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tensor/cuda/work.h"

namespace kiln::cuda {

// Do both consist of the same functions, copies, fills and products in the same order, wherever the operands
// lie?
bool are_alike(std::span<const Work> a, std::span<const Work> b);

class WorkGraph {
 public:
  // Made by capturing the work, which is not done by that. Null where the driver does not capture it.
  static std::unique_ptr<WorkGraph> make(Context& context, std::span<const Work> work);
  ~WorkGraph();
  WorkGraph(const WorkGraph&) = delete;
  WorkGraph& operator=(const WorkGraph&) = delete;

  // Can it do this work? Arguments of kernels and their number of blocks may be others. What is no kernel
  // must be the same: the driver has no call that changes the addresses of a product.
  bool fits(std::span<const Work> work) const;
  // Does work that it fits. Throws OpError (Device). False where the driver refuses the arguments: nothing is
  // done then.
  bool launch(std::span<const Work> work);

 private:
  WorkGraph(Context& context, std::span<const Work> work)
      : context_(context), work_(work.begin(), work.end()) {}
  Result capture();
  bool find_nodes();
  Result change(GraphNodeHandle node, const KernelWork& work);

  Context& context_;
  std::vector<Work> work_;  // as it would be launched now
  GraphHandle graph_ = nullptr;
  GraphExecHandle exec_ = nullptr;
  std::vector<GraphNodeHandle> nodes_;  // of the kernels, in order
};

}  // namespace kiln::cuda

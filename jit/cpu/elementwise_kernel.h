// Owns the kernel of a nest without reductions: what a call needs before elements are computed, and computing
// them.
#pragma once

#include <memory>
#include <optional>

#include "jit/cpu/element_run.h"
#include "jit/loops/kernel_op.h"
#include "jit/loops/recent_plans.h"

namespace kiln::jit {

class ElementwiseKernel final : public CpuKernel {
 public:
  explicit ElementwiseKernel(KernelParts parts);

  Tensors run(Inputs inputs, const Dims& symbols) const override;

  // Does it compute its elements from those of its inputs, and cannot fail?
  bool is_plain() const;
  // Does it compute each element of its outputs? Others come from an input as they are.
  bool computes_all() const;

  // A call of which only the elements are left to compute, which throws nothing.
  struct Ready {
    std::shared_ptr<const KernelPlan> plan;
    ElementRun run;
    std::int64_t count;  // of elements
  };
  // `outputs`, by output: the tensor to write it into, which nothing else reads any more; absent: none. Where
  // the kernel reads that tensor's elements in another order, a new tensor takes its place. Of a plain
  // kernel.
  Ready prepare(Inputs inputs, const Dims& symbols, std::span<Tensor> outputs) const;

  // A call for operands with the layouts of these, to be placed (ElementRun::place_load) and run any number
  // of times. The outputs are contiguous. Of a plain kernel. nullopt: an operand would have to be copied.
  struct Unplaced {
    std::shared_ptr<const KernelPlan> plan;
    ElementRun run;
    std::int64_t count;  // of elements
  };
  std::optional<Unplaced> unplaced(Inputs inputs, const Dims& symbols) const;
  // May the output be written into the memory of the input, which no other operand shares?
  bool may_write_over(const Unplaced& call, std::size_t output, std::size_t input) const;

  // Is each element of the input read at the place of the output's element, and from the input's own memory?
  bool reads_in_order(Inputs inputs, const Dims& symbols, std::size_t input) const;

  std::int64_t grain() const { return grain_; }

 private:
  const LoopNest& nest() const { return lowered().passes[0]; }
  std::shared_ptr<const KernelPlan> plan(Inputs inputs, const Dims& symbols) const;
  std::vector<Generator> next_draws() const;
  Tensor output(const KernelPlan& plan, std::size_t k, Inputs inputs) const;
  bool may_become(const KernelPlan& plan, std::size_t k, Inputs inputs, const Tensor& output) const;

  std::int64_t grain_;
  RecentPlans<KernelPlan> plans_;
};

// The kernel that is the op's; null when it is no kernel, one with reductions, or not the CPU's.
const ElementwiseKernel* elementwise_kernel_of(const Op& op);

}  // namespace kiln::jit

// Owns a compiled kernel and running it over tensors: strides of loads, pieces for threads, short rows.
#pragma once

#include <atomic>
#include <memory>

#include "jit/compiler.h"
#include "jit/loops.h"

namespace kiln::jit {

// What one call depends on beside the elements: worked out once per layouts of the inputs and values of the
// symbols (kernel_plan.cpp).
struct KernelPlan {
  Dims symbols;
  std::vector<Layout> inputs;

  Dims sizes;  // of the outputs
  Dims axes;   // the same with as few dimensions as can be; at least one
  struct LoadPlan {
    enum class Access : std::uint8_t {
      Direct,    // one element after the other, as the outputs
      Constant,  // one element for all
      Strided,
    };
    Access access = Access::Direct;
    Layout layout;            // before broadcasting
    bool copied = false;      // to contiguous memory first: it runs across the outputs
    std::int64_t offset = 0;  // in elements, of the storage or the copy
    Dims strides;             // along `axes`
  };
  std::vector<LoadPlan> loads;
  std::vector<std::int64_t> numbers;
  bool all_direct = false;  // or constant
  bool by_rows = false;     // rows are long enough for a call each
};

class Kernel {
 public:
  Kernel(LoopNest nest, KernelFn function, std::shared_ptr<void> code, std::vector<std::string> symbols);

  const LoopNest& nest() const { return nest_; }
  // One new tensor per store. `symbols` are the values of the names given. Throws OpError where an op is not
  // defined for an element.
  Tensors run(Inputs inputs, const Dims& symbols) const;
  std::vector<TensorType> types(const Dims& symbols) const;

 private:
  std::shared_ptr<const KernelPlan> plan_for(Inputs inputs, const Dims& symbols) const;
  SymbolValues named(const Dims& symbols) const;
  [[noreturn]] void fail(std::uint64_t failed) const;

  LoopNest nest_;
  KernelFn function_;
  std::shared_ptr<void> code_;
  std::vector<std::string> symbols_;
  std::vector<cpu::BlockKernel> called_;  // by instruction
  std::int64_t grain_ = 0;
  // Of the last call: calls mostly come with the same layouts.
  mutable std::atomic<std::shared_ptr<const KernelPlan>> last_plan_;
};

KernelPlan make_plan(const LoopNest& nest, Inputs inputs, const Dims& symbols, const SymbolValues& values);

}  // namespace kiln::jit

// Owns the CPU's kernels and running them over tensors: strides of loads, pieces for threads, short rows.
#pragma once

#include <memory>

#include "jit/llvm/kernel_code.h"
#include "jit/loops/kernel.h"
#include "jit/loops/places.h"
#include "tensor/cpu/moves/gather_reader.h"
#include "tensor/cpu/random/random.h"

namespace kiln::jit {

// The elements of an input in the last of these layouts.
Tensor laid_out(const Tensor& input, std::span<const Layout> layouts);

// A gather load in one call: the layouts of the op's operands in memory, and the values of its attributes.
struct GatherPlan {
  std::vector<ShownLayout> operands;
  Attrs attrs;
};
GatherPlan plan_gather(const Load& load, std::span<const Layout> inputs, const SymbolValues& values);
// Throws what the op throws for the elements of its operands.
std::unique_ptr<const cpu::GatherReader> open_gather(const Load& load, const GatherPlan& plan, Inputs inputs);

// Everything that one call needs beside the elements: computed once for layouts of the inputs and values of
// the symbols (kernel_plan.cpp).
struct KernelPlan {
  Dims symbols;
  std::vector<Layout> inputs;

  Dims sizes;    // of the nest
  IntDims axes;  // the same with as few dimensions as can be; at least one
  struct LoadPlan {
    enum class Access : std::uint8_t {
      Direct,    // one element after the other, as the outputs
      Constant,  // one element for all
      Strided,
      Drawn,     // made block by block
      Gathered,  // likewise, unless the elements are contiguous in memory
    };
    Access access = Access::Direct;
    Distribution distribution;
    GatherPlan gather;
    std::vector<Layout> laid_out;
    Layout layout;            // before broadcasting
    bool copied = false;      // to contiguous memory first: it runs across the outputs
    std::int64_t offset = 0;  // in elements, of the storage or the copy
    IntDims strides;          // along `axes`
  };
  std::vector<LoadPlan> loads;
  struct StorePlan : StorePlaces {
    bool is_direct = true;  // else strided
  };
  std::vector<StorePlan> stores;
  std::vector<std::int64_t> numbers;
  bool all_direct = false;  // all loads and stores are direct, or constant
  bool by_steps = false;    // each load and store moves by a fixed number of bytes from row to row
  bool by_rows = false;     // rows are long enough for a call each
};

// What all kernels of the CPU have beside their parts.
class CpuKernel : public Kernel {
 public:
  explicit CpuKernel(KernelParts parts);

 protected:
  std::span<const LoopNest> passes() const { return lowered().passes; }
  ScheduledNest scheduled(std::size_t pass) const { return {&passes()[pass], &schedule().nests[pass]}; }

  std::vector<KernelFn> functions_;                    // by pass
  std::vector<std::vector<cpu::BlockKernel>> called_;  // by pass and instruction
};

// The kernel of these parts, in the form that its nests and its schedule need.
std::unique_ptr<const Kernel> make_kernel(KernelParts parts);
std::unique_ptr<const Kernel> make_row_kernel(KernelParts parts);
// Of short rows, which are interleaved.
std::unique_ptr<const Kernel> make_tile_kernel(KernelParts parts);

inline constexpr std::int64_t kLongRow = 64;  // a row that is worth a call of its own in any case
inline constexpr std::int64_t kBlock = 1024;  // elements gathered at a time
// The fewest elements that are worth a thread: fewer where the nest has more work for each.
std::int64_t grain_of(const LoopNest& nest);
// Puts one element on places [from, kVector) of a vector.
void spread(std::byte* vector, const std::byte* element, std::int64_t item, std::int64_t from);
KernelPlan make_plan(const ScheduledNest& scheduled, std::vector<Layout> inputs, const Dims& symbols,
                     const SymbolValues& values);
std::vector<Layout> layouts_of(Inputs inputs);

}  // namespace kiln::jit

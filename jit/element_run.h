// Owns one run of an elementwise kernel, which all its threads share: where its loads and stores lie.
#pragma once

#include <span>

#include "jit/kernel.h"

namespace kiln::jit {

class ElementRun {
 public:
  enum class Writes : std::uint8_t {
    Plainly,
    Once,        // no element is computed twice, since outputs lie where inputs do
    PastCaches,  // those that may: outputs begin where their memory does
  };
  // `draws`: what random numbers are made of, by load. Throws what ops that pick throw for their indices.
  // Keeps the plan by reference, and copies of what cannot be read in place; the caller holds `inputs` and
  // `outputs`.
  ElementRun(const LoopNest& nest, const KernelPlan& plan, KernelFn function, const cpu::BlockKernel* called,
             Inputs inputs, std::span<const Generator> draws, Inputs outputs,
             Writes writes = Writes::Plainly);

  // Computes elements [begin, end): bits of the instructions that met one they are not defined for.
  std::uint64_t piece(std::int64_t begin, std::int64_t end) const;

 private:
  struct Place {
    const std::byte* data;
    std::int64_t item;
  };
  struct Target {
    std::byte* data;
    std::int64_t item;
  };
  class Piece;

  const LoopNest& nest_;
  const KernelPlan& plan_;
  KernelFn function_;
  const cpu::BlockKernel* called_;
  std::span<const Generator> draws_;
  Writes writes_;
  Tensors copies_;
  std::vector<std::unique_ptr<const cpu::Picked>> picks_;  // by load; none when nothing is picked
  SmallVector<Place, 8> loads_;
  SmallVector<Target, 4> outputs_;
};

}  // namespace kiln::jit

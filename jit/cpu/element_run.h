// Owns one run of an elementwise kernel, which all its threads share: where its loads and stores lie.
#pragma once

#include <span>

#include "jit/cpu/kernel.h"

namespace kiln::jit {

class ElementRun {
 public:
  enum class Writes : std::uint8_t {
    Plainly,
    Once,       // no element is computed twice, since outputs lie where inputs do
    Streaming,  // stores marked as streaming stream: outputs begin where their memory does
  };
  // `draws`: what random numbers are made of, by load. Throws what ops that pick throw for their indices.
  // Keeps the plan by reference, and copies of what cannot be read in place; the caller holds `inputs` and
  // `outputs`.
  ElementRun(const ScheduledNest& scheduled, const KernelPlan& plan, KernelFn function,
             const cpu::BlockKernel* called, Inputs inputs, std::span<const Generator> draws, Inputs outputs,
             Writes writes = Writes::Plainly);

  // Of a plan that copies nothing and picks nothing: places come later.
  ElementRun(const ScheduledNest& scheduled, const KernelPlan& plan, KernelFn function,
             const cpu::BlockKernel* called);
  void place_load(std::size_t k, const std::byte* first) { loads_[k].data = first; }
  void place_output(std::size_t k, std::byte* first) { outputs_[k].data = first; }
  // How far these are from where the memory of the operand or the output begins.
  std::ptrdiff_t load_bytes(std::size_t k) const { return plan_.loads[k].offset * loads_[k].item; }
  std::ptrdiff_t output_bytes(std::size_t k) const { return plan_.stores[k].offset * outputs_[k].item; }

  // Pieces are best multiples of so many elements: rows that are gone through without looking for their
  // places. So long as they are few enough to be a piece of `grain`.
  std::int64_t unit(std::int64_t grain) const { return is_rows_ && row_ <= grain / 4 ? row_ : 1; }
  // May it be done without computing an element twice: in pieces that are multiples of so many, and what is
  // left for itself?
  bool computes_once() const { return is_one_call_ || (is_rows_ && row_ % kVector == 0); }
  std::int64_t unit_computed_once() const { return is_rows_ ? row_ : kVector; }

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
  void find_moves();
  KernelCall call_at(const void* const* places, std::int64_t count) const;
  std::uint64_t one_call(std::int64_t begin, std::int64_t end) const;
  std::uint64_t rows(std::int64_t begin, std::int64_t end) const;

  bool is_hoisted(std::size_t load) const { return schedule_.loads[load].hoisted; }

  const LoopNest& nest_;
  const NestSchedule& schedule_;
  const KernelPlan& plan_;
  KernelFn function_;
  const cpu::BlockKernel* called_;
  std::span<const Generator> draws_;
  Writes writes_;
  bool is_one_call_ = false;   // computes any range that is no shorter than a vector
  bool is_rows_ = false;       // a call for each row does, whose places are steps apart
  bool hoists_loads_ = false;  // as in KernelCall
  std::int64_t row_ = 1;
  SmallVector<std::int64_t, 12> moves_;  // by load, as in KernelCall
  SmallVector<std::int64_t, 16> steps_;  // by load and output: bytes from row to row
  Tensors copies_;
  std::vector<std::unique_ptr<const cpu::GatherReader>> gathers_;  // by load; none without gather loads
  SmallVector<Place, 8> loads_;
  SmallVector<Target, 4> outputs_;
};

}  // namespace kiln::jit

// Owns giving the kernel of elementwise rows to a card: which program it is in, how the axes of operands are
// walked, and where vectors of elements go at once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "tensor/cuda/axes.h"
#include "tensor/cuda/kernels/elementwise_job.h"
#include "tensor/error.h"
#include "tensor/ops/scalar.h"
#include "tensor/tensor.h"

namespace kiln::cuda {

inline constexpr int kSameBody = kRowCount;  // of copies, casts and fills

struct ElementwiseOperand {
  enum class Kind : std::uint8_t { None, Elements, ThroughBool, Number };
  Kind kind = Kind::None;
  bool as_bool = false;      // a mask, not in the type of the arithmetic
  Tensor tensor{};           // broadcast to the sizes of the result
  std::uint64_t number = 0;  // as bits of the type that it is used in
};

struct Elementwise {
  int body = kSameBody;  // a row, by its number
  Compute compute{};
  Params params{};
  std::array<ElementwiseOperand, kMostOperands> operands{};
  std::function<OpError(std::int64_t)> refusal{};  // empty where no element is refused
  Tensor refused{};                                // i32[1] or nothing: set where an element is
  Tensor unless{};                                 // absent, or a word of the card: set, nothing is done
};

// Computes into a result of any layout without overlap, and of any dtype, which may be just the elements of
// an operand. The operands' memory is asked for after the result's, whose preparation may have moved it.
void run_elementwise(const Elementwise& what, const Tensor& result);

// How the elements of operands and of the result, which comes last, are walked: along the result's memory.
WalkAxes walk_along(const Tensor& result, std::span<const Tensor> operands);

// The axis along which an operand's elements are neighbours, where those of the result are along the first
// one; 0 unless both are long enough for tiles.
std::size_t crossing_axis(const WalkAxes& walk, std::size_t operand);

}  // namespace kiln::cuda

// Owns elementwise ops of which operands lie in memory along another dimension than the result: tile by tile,
// so that of each cache line all is used while it is near, and nothing is laid out in memory before.
#pragma once

#include <optional>
#include <span>

#include "tensor/cpu/elementwise/element_form.h"
#include "tensor/cpu/tiling.h"

namespace kiln::cpu {

// One operand as the kernel reads it, without conversion; or the result.
struct TileOperand {
  std::byte* data = nullptr;  // of a value: that
  std::int64_t item = 0;      // bytes of an element
  bool is_value = false;      // one for all of the op
};

class TiledElementwise {
 public:
  // Operand k of the space, which is simplified, is operands[k]; the first is the result. Nothing unless some
  // operand runs across the result and all go by tiles.
  static std::optional<TiledElementwise> plan(const Space& space, std::span<const TileOperand> operands,
                                              const ElementForm& form, unsigned values);

  // On all threads, if each gets `grain` elements. Not 0: the op is not defined for some element.
  unsigned operator()(std::int64_t grain, const Params& params) const;

 private:
  // Where tiles are put together.
  enum class Turn : std::uint8_t {
    Result,    // all operands lie across: computed in their order, the result is transposed
    Operands,  // those that lie across are transposed first
  };
  TiledElementwise(const Space& space, std::span<const TileOperand> operands)
      : space_(&space), operands_(operands) {}
  bool choose_turn();
  bool lies_across(std::size_t k) const;
  bool choose_kernels(const ElementForm& form, unsigned values);
  unsigned turn_result(const Tiling& tiling, const Tile& tile, bool streaming, const Params& params) const;
  unsigned turn_operands(const Tiling& tiling, const Tile& tile, const Params& params) const;
  unsigned compute(const OperandRows& rows, const Params& params) const;

  const Space* space_;
  std::span<const TileOperand> operands_;
  std::size_t down_ = 0;  // the dimension along which those run that lie across
  Turn turn_ = Turn::Result;
  RowsKernel rows_ = nullptr;    // null: there is none for these operands
  BlockKernel block_ = nullptr;  // likewise
  std::int64_t widest_ = 0;      // bytes of an element
  std::int64_t whole_ = 1;       // `rows_` takes multiples of so many elements
};

}  // namespace kiln::cpu

#include "tensor/cpu/elementwise/elementwise_tiles.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "tensor/cpu/elementwise/transpose.h"
#include "tensor/cpu/elementwise/transpose_kernels.h"

namespace kiln::cpu {
namespace {

constexpr std::int64_t kWorthwhile = 1 << 10;  // elements
// Tiles whose result is transposed: so much of each row as the processor fetches ahead, of so many rows.
constexpr std::int64_t kRowBytes = 256, kTileColumns = 64;
// Tiles whose operands are: of an operand, so that rows of the result are long and all stays in the second
// cache.
constexpr std::int64_t kStripBytes = 65536;

TransposeKernel transposition_of(std::int64_t item) {
  return transpose_kernels().of_size[std::countr_zero(static_cast<std::uint64_t>(item))];
}

}  // namespace

std::optional<TiledElementwise> TiledElementwise::plan(const Space& space,
                                                       std::span<const TileOperand> operands,
                                                       const ElementForm& form, unsigned values) {
  if (space.sizes().size() < 2 || space.numel() < kWorthwhile) return std::nullopt;
  TiledElementwise result(space, operands);
  for (int k = 1; k < space.operands(); ++k) {
    const int dim = operands[static_cast<std::size_t>(k)].is_value ? -1 : crossing_dim(space, k);
    if (dim < 0) continue;
    result.down_ = static_cast<std::size_t>(dim);
    if (!result.choose_turn() || !result.choose_kernels(form, values)) return std::nullopt;
    return result;
  }
  return std::nullopt;
}

bool TiledElementwise::lies_across(std::size_t k) const {
  const Dims& strides = space_->strides(static_cast<int>(k));
  return strides[down_] == 1 && strides.back() > 1;
}

// Values, and what has one element for each row, go with either order.
bool TiledElementwise::choose_turn() {
  const auto all = [&](auto&& holds) {
    for (std::size_t k = 1; k < operands_.size(); ++k)
      if (!operands_[k].is_value && !holds(k, space_->strides(static_cast<int>(k)))) return false;
    return true;
  };
  turn_ = Turn::Result;
  if (all([&](std::size_t, const Dims& strides) { return strides[down_] == 0 || strides[down_] == 1; }))
    return true;
  turn_ = Turn::Operands;
  // What does not stay in cache goes row by row from one end to the other faster than by parts of rows.
  if (is_streamed(space_->numel() * operands_[0].item)) return false;
  return all([&](std::size_t k, const Dims& strides) {
    return strides.back() == 0 || strides.back() == 1 || lies_across(k);
  });
}

bool TiledElementwise::choose_kernels(const ElementForm& form, unsigned values) {
  unsigned of_rows = values;
  for (std::size_t k = 0; k < operands_.size(); ++k)
    if (!operands_[k].is_value) widest_ = std::max(widest_, operands_[k].item);
  for (std::size_t k = 1; k < operands_.size(); ++k) {
    const Dims& strides = space_->strides(static_cast<int>(k));
    if (!operands_[k].is_value && strides[turn_ == Turn::Result ? down_ : strides.size() - 1] == 0)
      of_rows |= 1U << (k - 1);
  }
  rows_ = form.rows[of_rows];
  if (of_rows == values) block_ = form.block[values];
  if (is_half(form.element))
    whole_ = kWidestVector / std::min(operands_[0].item, static_cast<std::int64_t>(size_of(form.element)));
  return block_ != nullptr || (rows_ != nullptr && whole_ == 1);
}

unsigned TiledElementwise::compute(const OperandRows& rows, const Params& params) const {
  if (rows_ != nullptr && rows.n % whole_ == 0) return rows_(rows, params);
  unsigned bad = 0;
  const void* in[kMostOperands];
  for (std::int64_t row = 0; row < rows.count; ++row) {
    for (std::size_t i = 0; i + 1 < operands_.size(); ++i) in[i] = rows.in[i] + row * rows.step[i];
    bad |= block_(in, rows.out + row * rows.out_step, rows.n, params);
  }
  return bad;
}

unsigned TiledElementwise::operator()(std::int64_t grain, const Params& params) const {
  std::atomic<unsigned> bad{0};
  const auto each_tile = [&](std::int64_t rows, std::int64_t columns, const auto& f) {
    const Tiling tiling(*space_, down_, space_->sizes().size() - 1, rows, columns);
    tiling.each(std::max<std::int64_t>(1, grain / (rows * columns)), [&](const Tile& tile) {
      if (const unsigned found = f(tiling, tile)) bad.fetch_or(found, std::memory_order_relaxed);
    });
  };
  if (turn_ == Turn::Result) {
    const std::int64_t rows = kRowBytes / widest_;
    const bool streaming = is_streamed(space_->numel() * operands_[0].item);
    each_tile(rows, kTileColumns, [&](const Tiling& tiling, const Tile& tile) {
      return turn_result(tiling, tile, streaming, params);
    });
  } else {
    const std::int64_t rows = transpose_rows(widest_);
    each_tile(rows, kStripBytes / (rows * widest_),
              [&](const Tiling& tiling, const Tile& tile) { return turn_operands(tiling, tile, params); });
  }
  return bad.load();
}

unsigned TiledElementwise::turn_result(const Tiling& tiling, const Tile& tile, bool streaming,
                                       const Params& params) const {
  alignas(64) std::byte scratch[kTileColumns * kRowBytes];
  const TileOperand& result = operands_[0];
  OperandRows job;
  job.count = tile.columns;
  job.n = tile.rows;
  for (std::size_t k = 1; k < operands_.size(); ++k) {
    const TileOperand& operand = operands_[k];
    job.in[k - 1] = operand.data + tile.place[k] * operand.item;
    job.step[k - 1] = tiling.across(static_cast<int>(k)) * operand.item;
  }
  job.out = scratch;
  job.out_step = tile.rows * result.item;
  const unsigned bad = compute(job, params);
  transposition_of(result.item)(scratch, tile.rows, result.data + tile.place[0] * result.item, tiling.down(0),
                                tile.rows, tile.columns, streaming);
  return bad;
}

unsigned TiledElementwise::turn_operands(const Tiling& tiling, const Tile& tile, const Params& params) const {
  alignas(64) std::byte scratch[kMostOperands][kStripBytes];
  const TileOperand& result = operands_[0];
  OperandRows job;
  job.count = tile.rows;
  job.n = tile.columns;
  job.out = result.data + tile.place[0] * result.item;
  job.out_step = tiling.down(0) * result.item;
  for (std::size_t k = 1; k < operands_.size(); ++k) {
    const std::int64_t item = operands_[k].item;
    const std::int64_t across = tiling.across(static_cast<int>(k));
    const std::byte* const from = operands_[k].data + tile.place[k] * item;
    if (!lies_across(k)) {
      job.in[k - 1] = from;
      job.step[k - 1] = tiling.down(static_cast<int>(k)) * item;
      continue;
    }
    job.in[k - 1] = scratch[k - 1];
    job.step[k - 1] = tile.columns * item;
    const std::int64_t some = transpose_columns(item);
    for (std::int64_t column = 0; column < tile.columns; column += some)
      transposition_of(item)(from + column * across * item, across, scratch[k - 1] + column * item,
                             tile.columns, tile.rows, std::min(some, tile.columns - column), false);
  }
  return compute(job, params);
}

}  // namespace kiln::cpu

#include "tensor/cuda/attention_job.h"

#include <algorithm>
#include <array>

#include "tensor/cuda/axes.h"
#include "tensor/cuda/operands.h"
#include "tensor/functions.h"
#include "tensor/integers.h"

namespace kiln::cuda {
namespace {

constexpr std::int64_t kPieceBytes = 16;  // that are read at once

Dims with(Dims sizes, Dim rows, Dim columns) {
  sizes.push_back(rows);
  sizes.push_back(columns);
  return sizes;
}
Dim last(const Tensor& x, int from_end) { return x.size(x.rank() - from_end); }

// A tensor as it is read: its elements within a row are neighbours, but for the mask's.
Tensor with_whole_rows(const Tensor& x) {
  return same(x.strides().back(), 1) || last(x, 1) == 1 ? x : ops::clone(x);
}

// Strides along the leading dimensions, of a row and within it.
struct Strides {
  IntDims leading;
  std::int64_t row = 0, step = 0;

  Strides() = default;
  Strides(const Tensor& x, const Dims& leading_sizes) {
    const IntDims all = broadcast_layout(x.layout(), with(leading_sizes, last(x, 2), last(x, 1))).strides;
    leading = IntDims(std::span<const std::int64_t>(all.begin(), all.size() - 2));
    row = all[all.size() - 2], step = all.back();
  }
};

bool is_in_pieces(const Tensor& x, const Strides& strides) {
  const auto item = static_cast<std::int64_t>(size_of(x.dtype()));
  const auto is_whole = [item](std::int64_t elements) { return elements * item % kPieceBytes == 0; };
  return reinterpret_cast<std::uintptr_t>(x.raw()) % kPieceBytes == 0 && is_whole(last(x, 1).fixed()) &&
         is_whole(strides.row) && std::all_of(strides.leading.begin(), strides.leading.end(), is_whole);
}

// Does the tensor repeat along a leading dimension?
bool repeats(const Tensor& x, const Dims& leading, std::size_t d) {
  const auto missing = leading.size() + 2 - x.sizes().size();
  return d < missing || x.sizes()[d - missing] == 1;
}

using AllStrides = std::array<Strides, kAttentionOperands>;

WalkAxes axes_along(const Dims& sizes, const AllStrides& strides) {
  std::array<IntDims, kAttentionOperands> all;
  for (std::size_t k = 0; k < all.size(); ++k)
    all[k] = strides[k].leading.empty() ? IntDims(Dims(sizes.size(), 0)) : strides[k].leading;
  return {sizes, all};
}

AttentionOperands laid_out(const AttentionOperands& of) {
  AttentionOperands all = of;
  for (Tensor* const each : {&all.query, &all.key, &all.value, &all.mask, &all.grad}) {
    if (*each) *each = ops::clone(ops::expand(*each, with(of.leading, last(*each, 2), last(*each, 1))));
  }
  return all;
}

}  // namespace

AttentionCall attention_call(const AttentionOperands& given, bool finds_alike) {
  AttentionCall call;
  const Dim queries = last(given.query, 2), keys = last(given.key, 2);
  AttentionOperands of = given;
  for (Tensor* const each : {&of.query, &of.key, &of.value, &of.grad})
    if (*each) *each = with_whole_rows(*each);
  if (of.mask && of.mask.rank() < 2) of.mask = ops::unsqueeze(of.mask, 0);
  AllStrides strides;
  AttentionJob& job = call.job;
  for (const auto& [k, x] :
       {std::pair{kQueries, of.query}, {kKeys, of.key}, {kValues, of.value}, {kGrads, of.grad}}) {
    if (!x) continue;
    strides[k] = Strides(x, of.leading);
    if (is_in_pieces(x, strides[k])) job.pieces |= std::int64_t{1} << k;
  }
  if (of.mask) {
    of.mask =
        ops::expand(of.mask, with(Dims(of.mask.sizes().begin(), of.mask.sizes().end() - 2), queries, keys));
    strides[kMasks] = Strides(of.mask, of.leading);
  }
  strides[kResults].leading = contiguous_strides(of.leading);
  Dims alike(of.leading.size(), 1);
  call.apart = of.leading;
  for (std::size_t d = 0; finds_alike && d < alike.size(); ++d) {
    if (repeats(of.key, of.leading, d) && repeats(of.value, of.leading, d))
      std::swap(alike[d], call.apart[d]);
  }
  const WalkAxes apart = axes_along(call.apart, strides), along_alike = axes_along(alike, strides);
  if (!apart.fits() || !along_alike.fits()) return attention_call(laid_out(of), finds_alike);
  job.along_apart = apart.argument<kAttentionOperands>();
  job.along_alike = along_alike.argument<kAttentionOperands>();
  job.apart = count_elements(IntDims(call.apart)), job.alike = count_elements(IntDims(alike));
  job.queries = queries.fixed(), job.keys = keys.fixed();
  job.features = of.features(), job.widths = of.widths();
  for (std::size_t k = 0; k < strides.size(); ++k) job.rows[k] = strides[k].row;
  job.mask_step = strides[kMasks].step;
  job.query = of.query.raw(), job.key = of.key.raw(), job.value = of.value.raw();
  job.mask = of.mask ? of.mask.raw() : nullptr;
  job.grad = of.grad ? of.grad.raw() : nullptr;
  call.operands = {of.query, of.key, of.value, of.mask, of.grad};
  return call;
}

std::optional<AttentionForm> attention_form(const Context& context, const AttentionOperands& operands,
                                            int staying) {
  constexpr std::int64_t kWidthUnit = 32, kRowsOfWarp = 16, kUnitsFrom = 80;
  constexpr std::int64_t kReserved = 4096;  // for the system and for variables of functions
  const DType dtype = operands.query.dtype();
  AttentionForm form{.dtype = dtype,
                     .by_units = size_of(dtype) == 2 && context.card().capability >= kUnitsFrom,
                     .features = ceil_divide(operands.features(), kWidthUnit) * kWidthUnit,
                     .widths = ceil_divide(operands.widths(), kWidthUnit) * kWidthUnit};
  const std::int64_t sum = form.is_wide() ? 8 : 4, stored = form.by_units ? 2 : sum;
  const auto bytes = [&](std::int64_t warps, std::int64_t columns) {
    const std::int64_t features = form.features * stored + kPieceBytes,
                       widths = form.widths * stored + kPieceBytes, rows = warps * kRowsOfWarp;
    const std::int64_t tiles =
        rows * (features + (staying == 2 ? widths : 0)) + columns * (features + widths);
    return tiles + (form.by_units ? 0 : rows * (columns * sum + kPieceBytes));
  };
  // Scores of a tile are in registers: fewer columns where they are wide or two for each.
  const std::int64_t most_columns = 64 / (form.is_wide() ? 2 : 1) / staying;
  // Two blocks on a multiprocessor, so that one computes while the other waits; or else what a block may
  // have.
  const std::int64_t limits[] = {context.attribute(kSharedPerMultiprocessor) / 2,
                                 context.attribute(kSharedPerBlockOptIn)};
  for (form.warps = 4; form.warps > 0; form.warps /= 2) {
    for (const std::int64_t most : limits) {
      for (form.columns = most_columns; form.columns >= 16; form.columns /= 2) {
        form.bytes = bytes(form.warps, form.columns);
        if (form.bytes <= most - kReserved) return form;
      }
    }
  }
  return std::nullopt;
}

}  // namespace kiln::cuda

// Owns going through the elements of several strided operands in one order, with as few dimensions as can be.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

#include "tensor/shape.h"

namespace kiln::cpu {

// The iteration space of up to kMost operands: sizes, and of each operand strides in elements.
class Space {
 public:
  static constexpr int kMost = 4;

  explicit Space(const Layout& first) : sizes_(first.sizes), count_(1) { strides_[0] = first.strides; }
  // `layout` broadcasts to the sizes of the first.
  void add(const Layout& layout) {
    IntDims& strides = strides_[static_cast<std::size_t>(count_++)];
    strides.resize(sizes_.size(), 0);
    const std::size_t extra = sizes_.size() - layout.sizes.size();
    for (std::size_t i = 0; i < layout.sizes.size(); ++i) {
      if (layout.sizes[i] != 1) strides[extra + i] = layout.strides[i];
    }
  }

  // Orders dimensions by the strides of the first operand, largest first, drops those of size 1 and merges
  // those that every operand steps through alike. At least one dimension is left.
  void simplify();

  std::int64_t numel() const {
    return std::accumulate(sizes_.begin(), sizes_.end(), std::int64_t{1}, std::multiplies<>());
  }
  int operands() const { return count_; }
  const IntDims& sizes() const { return sizes_; }
  const IntDims& strides(int operand) const { return strides_[static_cast<std::size_t>(operand)]; }
  std::int64_t inner() const { return sizes_.back(); }

  // The operand's elements are one and the same; or follow one another in this order.
  bool is_constant(int operand) const {
    return std::all_of(strides(operand).begin(), strides(operand).end(),
                       [](std::int64_t s) { return s == 0; });
  }
  bool is_dense(int operand) const;

 private:
  IntDims sizes_;
  std::array<IntDims, kMost> strides_;
  int count_;
};

// A place among elements of these sizes, at least one dimension, of an operand with these strides. Keeps both
// by reference.
class Walker {
 public:
  Walker(const IntDims& sizes, const IntDims& strides, std::int64_t index)
      : sizes_(sizes), strides_(strides), places_(sizes.size(), 0) {
    move_to(index);
  }
  // Keeps both, so they must not be made for the call.
  Walker(const Dims& sizes, const Dims& strides, std::int64_t index) = delete;
  Walker(const Space& space, int operand, std::int64_t index)
      : Walker(space.sizes(), space.strides(operand), index) {}
  void move_to(std::int64_t index) {
    offset_ = 0;
    for (std::size_t i = sizes_.size(); i-- > 0;) {
      places_[i] = index % sizes_[i];
      index /= sizes_[i];
      offset_ += places_[i] * strides_[i];
    }
  }
  std::int64_t inner_stride() const { return strides_.back(); }
  std::int64_t offset() const { return offset_; }

  // Calls f(offset, length) for each run of the next `count` elements along the inner dimension.
  template <class F>
  void advance(std::int64_t count, F&& f) {
    const std::size_t inner = sizes_.size() - 1;
    while (count > 0) {
      const std::int64_t length = std::min(count, sizes_[inner] - places_[inner]);
      f(offset_, length);
      count -= length;
      places_[inner] += length;
      offset_ += length * strides_[inner];
      if (places_[inner] == sizes_[inner]) next_row();
    }
  }

 private:
  void next_row() {
    std::size_t dim = sizes_.size() - 1;
    while (places_[dim] == sizes_[dim]) {
      offset_ -= places_[dim] * strides_[dim];
      places_[dim] = 0;
      if (dim == 0) return;
      --dim;
      ++places_[dim];
      offset_ += strides_[dim];
    }
  }

  const IntDims& sizes_;
  const IntDims& strides_;
  IntDims places_;
  std::int64_t offset_ = 0;
};

// Elements [begin, end) of a space of two dimensions or more, by rows that follow one another along the last
// dimension but one: calls f(at, rows, length) with where they begin, how many there are and how long they
// are, which is the inner dimension's size but for a single row that lies in the range in part.
template <class F>
void each_plane(const Space& space, std::int64_t begin, std::int64_t end, const F& f) {
  const std::int64_t inner = space.inner();
  const std::int64_t plane = space.sizes()[space.sizes().size() - 2];
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t length = std::min(inner - at % inner, end - at);
    const std::int64_t rows = length < inner ? 1 : std::min((end - at) / inner, plane - at / inner % plane);
    f(at, rows, length);
    at += rows * length;
  }
}

}  // namespace kiln::cpu

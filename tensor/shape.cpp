#include "tensor/shape.h"

#include <algorithm>
#include <limits>

#include "tensor/error.h"

namespace kiln {
namespace {

constexpr std::int64_t kMaxElements = std::numeric_limits<std::int64_t>::max() / 16;

std::string listed(std::span<const Dim> items) {
  std::string text = "[";
  for (std::size_t i = 0; i < items.size(); ++i) text += (i ? ", " : "") + to_string(items[i]);
  return text + "]";
}

}  // namespace

Dim count_elements(std::span<const Dim> sizes) {
  if (sizes.size() > kMaxRank) {
    throw OpError(ErrorKind::Shape, "a tensor has at most " + std::to_string(kMaxRank) + " dimensions, got " +
                                        std::to_string(sizes.size()));
  }
  std::int64_t count = 1;  // of the sizes that are ints
  Dim symbolic = 1;
  bool too_many = false;
  bool empty = false;
  for (const Dim size : sizes) {
    if (size < 0) throw OpError(ErrorKind::Value, "sizes cannot be negative, got " + listed(sizes));
    // Nothing is asked of symbols: what the caller made of an answer would be true for some values alone.
    if (!size.is_int()) [[unlikely]] {
      symbolic *= size;
      continue;
    }
    if (size.known() == 0) empty = true;
    if (empty) continue;
    if (__builtin_mul_overflow(count, size.known(), &count) || count > kMaxElements) {
      too_many = true;
      count = 1;
    }
  }
  if (empty) return 0;
  if (too_many)
    throw OpError(ErrorKind::Overflow, "a tensor of sizes " + listed(sizes) + " has too many elements");
  return symbolic.is_int() ? Dim(count) : symbolic * count;
}

Dims contiguous_strides(std::span<const Dim> sizes) {
  Dims strides(sizes.size(), 1);
  Dim stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    if (!sizes[i].is_int() || !stride.is_int()) [[unlikely]] {
      stride *= max(sizes[i], 1);
      continue;
    }
    std::int64_t product = 0;
    // Of a tensor without elements the others may be any sizes.
    if (__builtin_mul_overflow(stride.known(), std::max<std::int64_t>(sizes[i].known(), 1), &product))
      product = 1;
    stride = product;
  }
  return strides;
}

bool is_contiguous(const Layout& layout) {
  Dim expected = 1;
  bool gapless = true;
  for (std::size_t i = layout.sizes.size(); i-- > 0 && gapless;) {
    const Dim stride = layout.strides[i], size = layout.sizes[i];
    // Only where the strides are others is it asked of a symbol whether they matter.
    gapless = same(stride, expected) || size == 1 || stride == expected;
    expected *= size;
  }
  return gapless || std::any_of(layout.sizes.begin(), layout.sizes.end(), [](Dim size) { return size == 0; });
}

bool is_row_major(const Layout& layout) { return same(layout.strides, contiguous_strides(layout.sizes)); }

std::pair<Dim, Dim> extent(const Layout& layout) {
  Dim last = layout.offset;
  for (std::size_t i = 0; i < layout.sizes.size(); ++i) {
    if (layout.sizes[i] == 0) return {layout.offset, layout.offset};
    last += (layout.sizes[i] - 1) * layout.strides[i];
  }
  return {layout.offset, last + 1};
}

int wrap_dim(std::int64_t dim, int rank, std::string_view op) {
  const std::int64_t usable = std::max(rank, 1);
  if (dim < -usable || dim >= usable) {
    throw OpError(ErrorKind::Index,
                  std::string(op.substr(0, op.find('.'))) + ": dim " + std::to_string(dim) +
                      " is out of range for a " + std::to_string(rank) + "-d tensor",
                  {}, "dims go from " + std::to_string(-usable) + " to " + std::to_string(usable - 1));
  }
  return static_cast<int>(dim < 0 ? dim + usable : dim);
}

Dims wrap_dims(std::span<const Dim> dims, int rank, std::string_view op) {
  Dims wrapped;
  if (dims.empty()) {
    for (int i = 0; i < rank; ++i) wrapped.push_back(i);
    return wrapped;
  }
  for (const Dim dim : dims) wrapped.push_back(wrap_dim(dim, rank, op));
  std::sort(wrapped.begin(), wrapped.end());
  const auto twice = std::adjacent_find(wrapped.begin(), wrapped.end());
  if (twice != wrapped.end()) {
    throw OpError(ErrorKind::Value,
                  std::string(op) + ": dim " + std::to_string(*twice) + " is given twice in " + listed(dims));
  }
  return rank == 0 ? Dims() : wrapped;
}

Dims broadcast(std::span<const Dim> a, std::span<const Dim> b, std::string_view op) {
  const std::size_t rank = std::max(a.size(), b.size());
  Dims result(rank, 1);
  for (std::size_t back = 1; back <= rank; ++back) {
    const Dim from_a = back <= a.size() ? a[a.size() - back] : 1;
    const Dim from_b = back <= b.size() ? b[b.size() - back] : 1;
    if (from_a != from_b && from_a != 1 && from_b != 1) {
      throw OpError(ErrorKind::Shape,
                    std::string(op) + ": shapes " + listed(a) + " and " + listed(b) +
                        " do not broadcast: dim -" + std::to_string(back) + " is " + to_string(from_a) +
                        " and " + to_string(from_b),
                    {0, 1}, "sizes must be equal, or one of them 1, counted from the last dim");
    }
    // Of a symbol and the number that it is, the number.
    result[rank - back] = from_a == 1 || (from_b.is_known() && from_b != 1) ? from_b : from_a;
  }
  return result;
}

bool broadcastable_to(std::span<const Dim> from, std::span<const Dim> to) {
  if (from.size() > to.size()) return false;
  const std::size_t extra = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != to[extra + i] && from[i] != 1) return false;
  }
  return true;
}

Layout broadcast_layout(const Layout& layout, std::span<const Dim> to) {
  Layout result{Dims(to.begin(), to.end()), Dims(to.size(), 0), layout.offset};
  const std::size_t extra = to.size() - layout.sizes.size();
  for (std::size_t i = 0; i < layout.sizes.size(); ++i) {
    if (layout.sizes[i] == to[extra + i]) result.strides[extra + i] = layout.strides[i];
  }
  return result;
}

Layout at_hints(const Layout& layout) {
  Layout result = layout;
  for (Dim& each : result.sizes) each = each.hint();
  for (Dim& each : result.strides) each = each.hint();
  result.offset = result.offset.hint();
  return result;
}

Layout evaluate(const Layout& layout, const SymbolValues& values) {
  return {evaluate(layout.sizes, values), evaluate(layout.strides, values), evaluate(layout.offset, values)};
}

Dims evaluate(std::span<const Dim> sizes, const SymbolValues& values) {
  Dims result;
  for (const Dim each : sizes) result.push_back(evaluate(each, values));
  return result;
}

std::string to_string(std::span<const Dim> sizes) { return listed(sizes); }
std::string text_of(std::span<const Dim> sizes) {
  std::string text = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i > 0 ? ", " : "") + sizes[i].text();
  return text + "]";
}

std::string type_string(DType dtype, std::span<const Dim> sizes) {
  return std::string(name(dtype)) + listed(sizes);
}

}  // namespace kiln

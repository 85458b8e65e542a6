// Owns where the windows of pools lie along one dimension. For the CPU's kernels and for cards: no standard
// headers.
#pragma once

#include "tensor/math/basic.h"

namespace kiln {

// Windows of a kernel that goes along the dimension, or of an adaptive pool: its place i of n covers
// [i * size / n, (i + 1) * size / n), rounded outwards.
struct WindowAxis {
  long long size, count;  // of elements, of windows
  bool is_adaptive;
  long long stride, padding, dilation, reach;
  bool counts_padding;  // are places of the padding those of the window, to an average?
};

struct Window {
  long long begin, end;  // of its places begin, begin + dilation, … below end, at least one
  long long weight;      // what an average counts as its places
};

KILN_MATH Window window_at(const WindowAxis& axis, long long i) {
  if (axis.is_adaptive) {
    const long long begin = i * axis.size / axis.count;
    const long long end = ((i + 1) * axis.size + axis.count - 1) / axis.count;
    return {begin, end, end - begin};
  }
  const long long first = i * axis.stride - axis.padding, beyond = first + axis.reach;
  const long long begin =
      first < 0 ? first + (-first + axis.dilation - 1) / axis.dilation * axis.dilation : first;
  const long long end = beyond < axis.size ? beyond : axis.size;
  const long long padded = axis.size + axis.padding;
  return {begin, end, axis.counts_padding ? (beyond < padded ? beyond : padded) - first : end - begin};
}

// The windows that have a place in them, first and last, of dilation 1.
struct WindowsOver {
  long long first, last;
};
KILN_MATH WindowsOver windows_over(const WindowAxis& axis, long long place) {
  if (axis.is_adaptive)
    return {place * axis.count / axis.size, ((place + 1) * axis.count + axis.size - 1) / axis.size - 1};
  const long long end = place + axis.padding, begin = end - axis.reach + 1;
  const long long last = end / axis.stride;
  return {begin > 0 ? (begin + axis.stride - 1) / axis.stride : 0, last < axis.count ? last : axis.count - 1};
}

}  // namespace kiln

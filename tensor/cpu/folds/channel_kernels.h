// Owns the kernels of what is done to channels, one table for every instruction set: runs of elements with
// the numbers of their channels, and rows of group_norm.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tensor/cpu/isa.h"

namespace kiln::cpu {

// A run of `count` elements, all of one channel or, with `along`, one of each of as many channels in a row,
// and `rows` of such one behind the other.
struct Run {
  std::int64_t count = 0;
  std::int64_t rows = 1;
  bool along = false;
};

// The numbers of the run's first channel.
template <class T>
struct Normalization {
  const T *mean, *rstd, *factor;
  const T* term;  // may be null
};
template <class T>
struct NormalizationGradient {
  const T *mean, *rstd, *flat, *apart, *slope;
  const T *mean_share, *variance_share;  // may be null
};

// Rows [n, groups] of a contiguous [n, channels, inner], each of `channels` / `groups` channels.
template <class T>
struct GroupNormJob {
  std::int64_t groups = 1, channels = 0, inner = 0;
  double epsilon = 0;
  const T* x = nullptr;
  const T* weight = nullptr;  // [channels], or null
  const T* bias = nullptr;    // likewise
  T* out = nullptr;           // the result, or the gradient of x
  // Of the derivative: the gradient, and for each [n, channels] the sums of it times xhat, and of it.
  const T* gradient = nullptr;
  T *products = nullptr, *totals = nullptr;
};

template <class T>
struct ChannelKernels {
  // to = (x - mean) * rstd * factor + term
  void (*normalize)(const Run& run, const Normalization<T>& by, const T* x, T* to);
  // to = g * ((x - mean) * rstd)
  void (*products)(const Run& run, const Normalization<T>& by, const T* g, const T* x, T* to);
  // to = (g - flat - (x - mean) * rstd * apart) * slope + mean_share + (x - mean) * variance_share
  void (*gradient)(const Run& run, const NormalizationGradient<T>& by, const T* g, const T* x, T* to);
  // to = x * factor + term; `term` may be null
  void (*affine)(const Run& run, const T* factor, const T* term, const T* x, T* to);
  void (*multiply)(std::int64_t count, const T* a, const T* b, T* to);
  void (*group_norm)(const GroupNormJob<T>& job, std::int64_t begin, std::int64_t end);
  void (*group_norm_backward)(const GroupNormJob<T>& job, std::int64_t begin, std::int64_t end);
};
struct AllChannelKernels {
  ChannelKernels<float> f32;
  ChannelKernels<double> f64;
};

}  // namespace kiln::cpu

KILN_ISA_TABLE(AllChannelKernels, all_channel_kernels)

namespace kiln::cpu {

template <class T>
const ChannelKernels<T>& channel_kernels() {
  if constexpr (std::is_same_v<T, double>) {
    return all_channel_kernels().f64;
  } else {
    return all_channel_kernels().f32;
  }
}

}  // namespace kiln::cpu

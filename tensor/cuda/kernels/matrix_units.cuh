// Owns the matrix units of cards for halves: what a warp reads from shared memory for them, and a product of
// 16 x 16 by 16 x 8. In PTX, and in plain C++ where the text is compiled for the host, which gives the same
// but for the order of sums. A lane has two rows of sums, and of every eight columns two neighbours.
#pragma once

#include "tensor/cuda/kernels/warp_tiles.cuh"

namespace kiln::cuda {

// Two neighbouring halves, the first one in the low bits.
template <class Half>
KILN_MATH unsigned pair(Half first, Half second) {
  return first.bits | static_cast<unsigned>(second.bits) << 16;
}

#if defined(__CUDACC_VER_MAJOR__) && __CUDA_ARCH__ >= 800  // by NVIDIA's compiler

KILN_MATH unsigned rounded(float first, float second, Half) {
  unsigned both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
}
KILN_MATH unsigned rounded(float first, float second, BFloat16) {
  unsigned both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
}

// Four matrices of 8 x 8 from shared memory, whose rows are `pitch` apart. After the first comes the one
// below, or beside where kAcross is set, then the other two. kTurned: each of them is read transposed.
template <bool kAcross, bool kTurned, class Element>
KILN_MATH void read_matrices(const Element* from, int pitch, unsigned (&to)[4]) {
  const int which = lane() / 8;
  const int down = kAcross ? which / 2 : which % 2, across = kAcross ? which % 2 : which / 2;
  const Element* const row = from + (down * 8 + lane() % 8) * pitch + across * 8;
  unsigned place;
  asm("{ .reg .u64 shared; cvta.to.shared.u64 shared, %1; cvt.u32.u64 %0, shared; }"
      : "=r"(place)
      : "l"(row));
  if constexpr (kTurned)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(place));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(place));
}

#define KILN_MULTIPLY(Element, type)                                                                      \
  KILN_MATH void multiply_matrices(const unsigned(&a)[4], unsigned b0, unsigned b1, float& c0, float& c1, \
                                   float& c2, float& c3, Element) {                                       \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type                                   \
                 ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                   \
                 : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)                                                 \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                         \
  }
KILN_MULTIPLY(Half, "f16")
KILN_MULTIPLY(BFloat16, "bf16")
#undef KILN_MULTIPLY

#else

template <class Element>
KILN_MATH unsigned rounded(float first, float second, Element) {
  return pair(scalar::convert<Element>(first), scalar::convert<Element>(second));
}

template <bool kAcross, bool kTurned, class Element>
KILN_MATH void read_matrices(const Element* from, int pitch, unsigned (&to)[4]) {
  const int group = lane() / 4, two = lane() % 4 * 2;
  for (int k = 0; k < 4; ++k) {
    const int down = kAcross ? k / 2 : k % 2, across = kAcross ? k % 2 : k / 2;
    const Element* const matrix = from + down * 8 * pitch + across * 8;
    to[k] = kTurned ? pair(matrix[two * pitch + group], matrix[(two + 1) * pitch + group])
                    : pair(matrix[group * pitch + two], matrix[group * pitch + two + 1]);
  }
}

// What a lane gives to the others for a product.
struct Given {
  unsigned a[4], b[2];
};
template <class Element>
KILN_MATH float half_of(unsigned both, int which) {
  return scalar::widen(Element{static_cast<unsigned short>(both >> (16 * which))});
}
template <class Element>
KILN_MATH void multiply_matrices(const unsigned (&a)[4], unsigned b0, unsigned b1, float& c0, float& c1,
                                 float& c2, float& c3, Element) {
  __shared__ Given all[32][kLanes];
  Given* const given = all[threadIdx.x / kLanes];
  __syncwarp();  // the others are done with the product before
  given[lane()] = {{a[0], a[1], a[2], a[3]}, {b0, b1}};
  __syncwarp();
  const int group = lane() / 4, column = lane() % 4 * 2;
  for (int k = 0; k < kWarpRows; ++k) {
    const int from = k % 8 / 2, high = k / 8;
    const Given& rows = given[group * 4 + from];
    const float upper = half_of<Element>(rows.a[2 * high], k % 2);
    const float lower = half_of<Element>(rows.a[2 * high + 1], k % 2);
    const float left = half_of<Element>(given[column * 4 + from].b[high], k % 2);
    const float right = half_of<Element>(given[(column + 1) * 4 + from].b[high], k % 2);
    c0 = math::fma(upper, left, c0), c1 = math::fma(upper, right, c1);
    c2 = math::fma(lower, left, c2), c3 = math::fma(lower, right, c3);
  }
}

#endif

template <class Element>
struct ByMatrixUnits {
  using Sum = float;
  using Stored = Element;
  static constexpr int kSharing = 4;
  static constexpr int kRows = 2;
  static constexpr bool kStages = false;
  static constexpr int kStep = 16;  // of the depth of a product

  KILN_MATH int row(int i) { return lane() / kSharing + i * 8; }
  KILN_MATH int column(int j) { return j / 2 * 8 + lane() % kSharing * 2 + j % 2; }
  KILN_MATH int place(int j) { return column(j); }

  // Two products side by side: 16 columns, of which the sums are those from `first` on.
  template <int kCount>
  KILN_MATH void multiply_both(const unsigned (&a)[4], const unsigned (&b)[4], int first,
                               float (&sums)[kRows][kCount]) {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const int j = first + 2 * k;
      multiply_matrices(a, b[2 * k], b[2 * k + 1], sums[0][j], sums[0][j + 1], sums[1][j], sums[1][j + 1],
                        Element());
    }
  }

  template <int kDepth, int kColumns>
  KILN_MATH void multiply(const Element* left, const Element* right,
                          float (&sums)[kRows][kColumns / kSharing]) {
    constexpr int kPitch = pitch<Element>(kDepth);
#pragma unroll 2
    for (int k = 0; k < kDepth; k += kStep) {
      unsigned a[4];
      read_matrices<false, false>(left + k, kPitch, a);
#pragma unroll
      for (int n = 0; n < kColumns; n += kStep) {
        unsigned b[4];
        read_matrices<true, false>(right + n * kPitch + k, kPitch, b);
        multiply_both(a, b, n / kSharing, sums);
      }
    }
  }

  // The sums of a product are the left operand of the next as they are, once they are rounded.
  template <int kColumns, int kWidth>
  KILN_MATH void add(const float (&weights)[kRows][kColumns / kSharing], float*, const Element* right,
                     float (&sums)[kRows][kWidth / kSharing]) {
    constexpr int kPitch = pitch<Element>(kWidth);
#pragma unroll
    for (int k = 0; k < kColumns; k += kStep) {
      const int j = k / kSharing;
      const unsigned a[4] = {rounded(weights[0][j], weights[0][j + 1], Element()),
                             rounded(weights[1][j], weights[1][j + 1], Element()),
                             rounded(weights[0][j + 2], weights[0][j + 3], Element()),
                             rounded(weights[1][j + 2], weights[1][j + 3], Element())};
#pragma unroll
      for (int n = 0; n < kWidth; n += kStep) {
        unsigned b[4];
        read_matrices<false, true>(right + k * kPitch + n, kPitch, b);
        multiply_both(a, b, n / kSharing, sums);
      }
    }
  }
};

}  // namespace kiln::cuda

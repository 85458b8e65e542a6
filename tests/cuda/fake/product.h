// Owns products of matrices of the fake cublasLt: what it knows of one, what it refuses, and computing it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/cuda/api_types.h"

namespace kiln::cuda {

struct MatmulDescData {
  int compute = 0, scale = 0;
  int pointer_mode = kPointersOnHost;
  int transpose_a = kNotTransposed, transpose_b = kNotTransposed, transpose_c = kNotTransposed;
  unsigned epilogue = kEpilogueNone;
  const void* bias = nullptr;
  std::int64_t bias_stride = 0;
  int bias_type = -1;  // that of the result
};

struct MatrixLayoutData {
  unsigned type = 0;
  int order = kOrderColumns;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0;
  int batch = 1;
  std::int64_t batch_stride = 0;
};

struct MatmulPreferenceData {
  unsigned search = 0;
  std::uint64_t workspace = 0;
  unsigned reduction = 7;
  unsigned alignment_a = 256, alignment_b = 256, alignment_c = 256, alignment_d = 256;
  float waves = 0;
};

}  // namespace kiln::cuda

namespace kiln::fake {

using namespace kiln::cuda;

struct Product {
  MatmulDescData description;
  MatrixLayoutData a, b, c, d;
};

// What the fields of MatmulAlgorithm are.
struct Algorithm {
  std::uint64_t mark, types;
  unsigned alignment_a, alignment_b, alignment_c, alignment_d;
  std::uint64_t workspace;
  std::uint64_t unused[3];
};
static_assert(sizeof(Algorithm) == sizeof(MatmulAlgorithm));

// Where the matrices are.
struct Operands {
  const void *a = nullptr, *b = nullptr, *c = nullptr;
  void* d = nullptr;
  double alpha = 1, beta = 0;
};

std::size_t size_of_type(unsigned type);
std::size_t bytes_of(const MatrixLayoutData& matrix);  // from the first element to the last one's end

// Success, or that something is wrong with it, or that there is no kernel for it.
CublasResult check(const Product& product);

Algorithm algorithm_for(const Product& product, const MatmulPreferenceData& preference);
// Can this algorithm compute it, with these operands?
CublasResult check(const Algorithm& algorithm, const Product& product, const Operands& operands);

// Sums over k from the first on, in the type that it computes in.
void compute(const Product& product, const Operands& operands);

}  // namespace kiln::fake

// Owns products of a matrix and a vector: which part of them each thread computes.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/cpu/products/gemm.h"

namespace kiln::cpu {

// As cpu::multiply, where `m` or `n` is 1. The bits are those of product_kernels.h, whatever
// the layouts and the threads.
template <class T>
void multiply_vectors(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k);

// Of halves: as if operands were converted to f32, and the result rounded once.
template <class T>
void multiply_vectors_of_halves(std::span<const Product<T>> products, std::int64_t m, std::int64_t n,
                                std::int64_t k);

}  // namespace kiln::cpu

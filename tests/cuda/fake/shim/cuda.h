// Owns the meaning that words of CUDA C++ have on the host; read before a kernel's text, in place of what
// NVRTC knows by itself. One thread of CUDA runs at a time, on a stack of its own where it waits for others.
#pragma once

#include "abi.h"

#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__ __restrict
// __global__, __launch_bounds__ and __shared__ are defined after the text has gone through the preprocessor:
// nvrtc looks for them there.

using uint3 = KilnFakeIndex;
using dim3 = KilnFakeIndex;
static KilnFakePlace kiln_fake_place;
#define threadIdx (kiln_fake_place.thread)
#define blockIdx (kiln_fake_place.block)
#define blockDim (kiln_fake_place.block_dim)
#define gridDim (kiln_fake_place.grid_dim)
static constexpr int warpSize = 32;

#define __syncthreads() ((void)kiln_fake_place.runtime.block_barrier(__LINE__, kFakeNoFold, false))
#define __syncthreads_count(value) kiln_fake_place.runtime.block_barrier(__LINE__, kFakeCount, (value) != 0)
#define __syncthreads_and(value) kiln_fake_place.runtime.block_barrier(__LINE__, kFakeAll, (value) != 0)
#define __syncthreads_or(value) kiln_fake_place.runtime.block_barrier(__LINE__, kFakeAny, (value) != 0)
#define __trap() (kiln_fake_place.runtime.stop(__LINE__, nullptr), __builtin_unreachable())
#define assert(holds) ((holds) ? (void)0 : kiln_fake_place.runtime.stop(__LINE__, #holds))

#include "checks.h"

// An access that is made for a kernel has the line of the kernel: the shim's functions have none.
#pragma clang attribute push(__attribute__((nodebug)), apply_to = hasType(functionType))
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)
#include "arithmetic.h"
#include "atomics.h"
#include "vectors.h"
#include "warp.h"
#pragma clang attribute pop
#pragma clang attribute pop

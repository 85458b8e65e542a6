// Owns copies from memory to shared memory that go on while a thread computes, 16 bytes at a time. Those that
// a thread has begun are in groups; it waits for all groups but the last ones. Cards before 8.0, and
// compilers that are not NVIDIA's, copy at once.
#pragma once

#include "tensor/cuda/kernels/warp_tiles.cuh"

namespace kiln::cuda {

#if defined(__CUDACC_VER_MAJOR__) && __CUDA_ARCH__ >= 800

// Zeros where nothing is there.
template <class T>
KILN_MATH void begin_copy(T* to, const T* from, bool is_there) {
  asm volatile(
      "{ .reg .u64 shared; .reg .u32 place; cvta.to.shared.u64 shared, %0; cvt.u32.u64 place, shared; "
      "cp.async.cg.shared.global [place], [%1], 16, %2; }"
      :
      : "l"(to), "l"(from), "r"(is_there ? 16 : 0)
      : "memory");
}
KILN_MATH void end_group() { asm volatile("cp.async.commit_group;" : : : "memory"); }
template <int kGoingOn>
KILN_MATH void wait_for_groups() {
  asm volatile("cp.async.wait_group %0;" : : "n"(kGoingOn) : "memory");
}

#else

template <class T>
KILN_MATH void begin_copy(T* to, const T* from, bool is_there) {
  *reinterpret_cast<Piece<T>*>(to) = is_there ? piece(from) : Piece<T>();
}
KILN_MATH void end_group() {}
template <int kGoingOn>
KILN_MATH void wait_for_groups() {}

#endif

}  // namespace kiln::cuda

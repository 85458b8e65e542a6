// Holds our declarations of CUDA's libraries to the headers of the toolkit. It is compiled where those are
// found, and says all it has to say while it is.
#include <cublasLt.h>
#include <cuda.h>
#include <nccl.h>
#include <nvrtc.h>

#include <cstddef>
#include <type_traits>

#include "tensor/cuda/api.h"

#if CUDA_VERSION / 1000 == 13
namespace {

namespace own = kiln::cuda;

template <class T>
constexpr bool is_text = std::is_same_v<std::remove_cv_t<T>, char>;

// Pointers to the same depth, with `const` in the same places; what they lead to in the end may have another
// name.
template <class Ours, class Theirs>
constexpr bool pointers_agree() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using A = std::remove_pointer_t<Ours>;
    using B = std::remove_pointer_t<Theirs>;
    if constexpr (std::is_const_v<A> != std::is_const_v<B> || is_text<A> != is_text<B>) {
      return false;
    } else if constexpr (std::is_void_v<A> || std::is_void_v<B>) {
      return std::is_void_v<A> && std::is_void_v<B>;
    } else if constexpr (std::is_function_v<A> || std::is_function_v<B>) {
      return std::is_same_v<A, B>;
    } else if constexpr (std::is_class_v<A> || std::is_class_v<B>) {
      return std::is_class_v<A> && std::is_class_v<B>;
    } else {
      return sizeof(A) == sizeof(B) && std::is_floating_point_v<A> == std::is_floating_point_v<B> &&
             pointers_agree<A, B>();
    }
  } else {
    return std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;
  }
}

template <class Ours, class Theirs>
constexpr bool agree() {
  return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs) &&
         std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs> && pointers_agree<Ours, Theirs>();
}

template <class Ours, class Theirs>
struct Signatures;

template <class R, class... P, class S, class... Q>
struct Signatures<R (*)(P...), S (*)(Q...)> {
  static constexpr bool have_one_form = [] {
    if constexpr (sizeof...(P) != sizeof...(Q)) {
      return false;
    } else {
      return agree<R, S>() && (agree<P, Q>() && ...);
    }
  }();
};

#define KILN_HOLD_TO(table, name) \
  static_assert(Signatures<decltype(own::table::name), decltype(&::name)>::have_one_form, #name);

#define KILN_ENTRY(result, name, parameters) KILN_HOLD_TO(DriverApi, name)
#include "tensor/cuda/driver_api.def"
#define KILN_ENTRY(result, name, parameters) KILN_HOLD_TO(NvrtcApi, name)
#include "tensor/cuda/nvrtc_api.def"
#define KILN_ENTRY(result, name, parameters) KILN_HOLD_TO(CublasLtApi, name)
#include "tensor/cuda/cublaslt_api.def"
#define KILN_ENTRY(result, name, parameters) KILN_HOLD_TO(NcclApi, name)
#include "tensor/cuda/nccl_api.def"

#define KILN_CONSTANT(name, value, theirs) static_assert(own::name == static_cast<int>(theirs), #name);
#include "tensor/cuda/constants.def"

#define KILN_FIELD(ours, field, theirs, their_field)                           \
  static_assert(offsetof(own::ours, field) == offsetof(theirs, their_field) && \
                sizeof(own::ours::field) == sizeof(theirs::their_field));

static_assert(sizeof(own::Uuid) == sizeof(CUuuid));
static_assert(sizeof(own::KernelNode) == sizeof(CUDA_KERNEL_NODE_PARAMS));
KILN_FIELD(KernelNode, function, CUDA_KERNEL_NODE_PARAMS, func)
KILN_FIELD(KernelNode, grid_x, CUDA_KERNEL_NODE_PARAMS, gridDimX)
KILN_FIELD(KernelNode, grid_y, CUDA_KERNEL_NODE_PARAMS, gridDimY)
KILN_FIELD(KernelNode, grid_z, CUDA_KERNEL_NODE_PARAMS, gridDimZ)
KILN_FIELD(KernelNode, block_x, CUDA_KERNEL_NODE_PARAMS, blockDimX)
KILN_FIELD(KernelNode, block_y, CUDA_KERNEL_NODE_PARAMS, blockDimY)
KILN_FIELD(KernelNode, block_z, CUDA_KERNEL_NODE_PARAMS, blockDimZ)
KILN_FIELD(KernelNode, shared, CUDA_KERNEL_NODE_PARAMS, sharedMemBytes)
KILN_FIELD(KernelNode, parameters, CUDA_KERNEL_NODE_PARAMS, kernelParams)
KILN_FIELD(KernelNode, extra, CUDA_KERNEL_NODE_PARAMS, extra)
KILN_FIELD(KernelNode, kernel, CUDA_KERNEL_NODE_PARAMS, kern)
KILN_FIELD(KernelNode, context, CUDA_KERNEL_NODE_PARAMS, ctx)
static_assert(sizeof(own::GraphUpdate) == sizeof(CUgraphExecUpdateResultInfo));
KILN_FIELD(GraphUpdate, result, CUgraphExecUpdateResultInfo, result)
KILN_FIELD(GraphUpdate, node, CUgraphExecUpdateResultInfo, errorNode)
KILN_FIELD(GraphUpdate, from, CUgraphExecUpdateResultInfo, errorFromNode)
static_assert(sizeof(own::MatmulAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(own::MatmulHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
KILN_FIELD(MatmulHeuristic, algorithm, cublasLtMatmulHeuristicResult_t, algo)
KILN_FIELD(MatmulHeuristic, workspace_bytes, cublasLtMatmulHeuristicResult_t, workspaceSize)
KILN_FIELD(MatmulHeuristic, state, cublasLtMatmulHeuristicResult_t, state)
KILN_FIELD(MatmulHeuristic, waves, cublasLtMatmulHeuristicResult_t, wavesCount)

}  // namespace
#endif

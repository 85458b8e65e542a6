// Owns the types of CUDA's libraries as Kiln declares them, so that no toolkit is needed to build it: handles
// are pointers to types that are declared and never defined. Enumerations are ints with the names of
// constants.def.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kiln::cuda {

#define KILN_CONSTANT(name, value, theirs) inline constexpr int name = value;
#include "tensor/cuda/constants.def"

// ---- The driver ------------------------------------------------------------------------------------------

using Result = int;
using Address = std::uint64_t;  // of memory of a card
using ContextHandle = struct ContextData*;
using StreamHandle = struct StreamData*;
using EventHandle = struct EventData*;
using ModuleHandle = struct ModuleData*;
using FunctionHandle = struct FunctionData*;
using PoolHandle = struct PoolData*;
using GraphHandle = struct GraphData*;
using GraphNodeHandle = struct GraphNodeData*;
using GraphExecHandle = struct GraphExecData*;

struct Uuid {
  char bytes[16];
};

struct KernelNode {
  FunctionHandle function;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared;
  void** parameters;
  void** extra;
  void* kernel;
  ContextHandle context;
};

struct GraphUpdate {
  int result;
  GraphNodeHandle node, from;
};

// ---- NVRTC, cublasLt and NCCL ----------------------------------------------------------------------------

using NvrtcResult = int;
using NvrtcProgram = struct NvrtcProgramData*;

using CublasResult = int;
using Cublas = struct CublasData*;
using MatmulDesc = struct MatmulDescData*;
using MatrixLayout = struct MatrixLayoutData*;
using MatmulPreference = struct MatmulPreferenceData*;

using NcclResult = int;
using NcclComm = struct NcclCommData*;

// By which ranks find each other.
struct NcclId {
  char bytes[128];
};

struct MatmulAlgorithm {
  std::uint64_t data[8];
};

struct MatmulHeuristic {
  MatmulAlgorithm algorithm;
  std::size_t workspace_bytes;
  CublasResult state;
  float waves;
  int reserved[4];
};

}  // namespace kiln::cuda

#include "tests/cuda/fake/launch.h"

#include <algorithm>
#include <cstring>

#include "tests/cuda/fake/card.h"
#include "tests/cuda/fake/grid.h"

namespace kiln::fake {
namespace {

constexpr int kRegisters = 32;  // of each thread, whatever the kernel
constexpr int kMostBlocks = 16;
constexpr int kOwnShared = 1024;  // of each block, which the system takes
constexpr std::size_t kSharedAlignment = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
}

int attribute(int which) {
  int value = 0;
  card_attribute(which, value);
  return value;
}

bool is_within(KilnFakeIndex index, int x, int y, int z) {
  const auto fits = [](unsigned value, int most) {
    return value >= 1 && value <= static_cast<unsigned>(most);
  };
  return fits(index.x, x) && fits(index.y, y) && fits(index.z, z);
}

std::size_t most_shared(const FunctionData& function) {
  return static_cast<std::size_t>(
      std::max(function.most_dynamic_shared, attribute(kSharedPerBlock) - function.static_shared));
}

}  // namespace

int shared_by_opt_in() { return attribute(kSharedPerBlockOptIn); }

Parameters::Parameters(const KilnFakeKernel& kernel, void* const* given) {
  std::size_t bytes = kSharedAlignment;
  for (unsigned i = 0; i < kernel.parameters; ++i) bytes += aligned(kernel.sizes[i]);
  bytes_.resize(bytes);
  auto* at = reinterpret_cast<std::byte*>(aligned(reinterpret_cast<std::size_t>(bytes_.data())));
  for (unsigned i = 0; i < kernel.parameters; ++i) {
    std::memcpy(at, given[i], kernel.sizes[i]);
    pointers_.push_back(at);
    at += aligned(kernel.sizes[i]);
  }
}

Result check(const Launch& launch, void* const* parameters) {
  const FunctionData& function = *launch.function;
  if (!is_within(launch.block, attribute(kMaxBlockX), attribute(kMaxBlockY), attribute(kMaxBlockZ)) ||
      !is_within(launch.grid, attribute(kMaxGridX), attribute(kMaxGridY), attribute(kMaxGridZ)))
    return kInvalidValue;
  const unsigned threads = launch.block.x * launch.block.y * launch.block.z;
  if (threads > static_cast<unsigned>(attribute(kMaxThreadsPerBlock))) return kInvalidValue;
  if (threads > function.kernel->most_threads) return kInvalidValue;
  if (launch.shared > most_shared(function)) return kInvalidValue;
  if (function.kernel->parameters == 0) return kSuccess;
  if (parameters == nullptr) return kInvalidValue;
  const bool has_all = std::find(parameters, parameters + function.kernel->parameters, nullptr) ==
                       parameters + function.kernel->parameters;
  return has_all ? kSuccess : kInvalidValue;
}

Failure run(const Launch& launch, const Parameters& parameters) {
  const FunctionData& function = *launch.function;
  return run_grid({function.library, &function.module->code, function.kernel, parameters.pointers(),
                   launch.grid, launch.block, launch.shared});
}

bool function_attribute(const FunctionData& function, int which, int& value) {
  switch (which) {
    case kFunctionMaxThreads:
      value = static_cast<int>(function.kernel->most_threads);
      return true;
    case kFunctionShared:
      value = function.static_shared;
      return true;
    case kFunctionConst:
    case kFunctionLocal:
      value = 0;
      return true;
    case kFunctionRegisters:
      value = kRegisters;
      return true;
    case kFunctionBinaryVersion:
      value = capability();
      return true;
    case kFunctionMaxDynamicShared:
      value = static_cast<int>(most_shared(function));
      return true;
    case kFunctionCarveout:
      value = -1;
      return true;
    default:
      return false;
  }
}

int active_blocks(const FunctionData& function, int threads, std::size_t shared) {
  const int warps = (threads + 31) / 32;
  if (threads > static_cast<int>(function.kernel->most_threads) || shared > most_shared(function)) return 0;
  const int bytes = static_cast<int>(shared) + function.static_shared + kOwnShared;
  return std::min({kMostBlocks, attribute(kThreadsPerMultiprocessor) / (32 * warps),
                   attribute(kRegistersPerBlock) / (kRegisters * 32 * warps),
                   attribute(kSharedPerMultiprocessor) / bytes});
}

}  // namespace kiln::fake

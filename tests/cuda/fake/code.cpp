// The fake driver: modules, functions and launches.
#include <algorithm>
#include <utility>

#include "tests/cuda/fake/capture.h"
#include "tests/cuda/fake/card.h"
#include "tests/cuda/fake/entries.h"
#include "tests/cuda/fake/grid.h"
#include "tests/cuda/fake/image.h"
#include "tests/cuda/fake/launch.h"
#include "tests/cuda/fake/modules.h"
#include "tests/cuda/fake/settings.h"
#include "tests/cuda/fake/state.h"

namespace kiln::cuda {
namespace {

using namespace kiln::fake;

template <class Body>
Result use_function(std::string_view entry, FunctionHandle function, const Body& body) {
  return enter(entry, Needs::Context,
               [&] { return module_of(function) != nullptr ? static_cast<int>(body()) : kInvalidHandle; });
}

}  // namespace

extern "C" {

Result cuModuleLoadDataEx(ModuleHandle* module, const void* image, unsigned count, int*, void**) {
  return enter("cuModuleLoadDataEx", Needs::Context, [&] {
    if (module == nullptr || image == nullptr) return kInvalidValue;
    if (count != 0) return kNotSupported;
    if (const Result refused = refuse_unsafe(); refused != kSuccess) return refused;
    const Image read = read_image(image, capability());
    if (read.state != ImageState::Good)
      return read.state == ImageState::Damaged ? kInvalidImage : kNoBinaryForGpu;
    std::unique_ptr<ModuleData> opened = open_module(read.library);
    if (opened == nullptr) return kInvalidImage;
    *module = opened.get();
    state().modules.emplace(*module, std::move(opened));
    return kSuccess;
  });
}

Result cuModuleUnload(ModuleHandle module) {
  return enter("cuModuleUnload", Needs::Context, [&] {
    const auto place = state().modules.find(module);
    if (place == state().modules.end()) return kInvalidHandle;
    state().modules.erase(place);
    return kSuccess;
  });
}

Result cuModuleGetFunction(FunctionHandle* function, ModuleHandle module, const char* name) {
  return enter("cuModuleGetFunction", Needs::Context, [&] {
    if (function == nullptr || name == nullptr) return kInvalidValue;
    const auto place = state().modules.find(module);
    if (place == state().modules.end()) return kInvalidHandle;
    for (const auto& each : place->second->functions) {
      if (std::string_view(each->kernel->name) != name) continue;
      *function = each.get();
      return kSuccess;
    }
    return kNotFound;
  });
}

Result cuFuncGetAttribute(int* value, int attribute, FunctionHandle function) {
  return use_function("cuFuncGetAttribute", function, [&] {
    if (value == nullptr) return kInvalidValue;
    return function_attribute(*function, attribute, *value) ? kSuccess : kInvalidValue;
  });
}

Result cuFuncSetAttribute(FunctionHandle function, int attribute, int value) {
  return use_function("cuFuncSetAttribute", function, [&] {
    if (attribute == kFunctionCarveout) return value >= -1 && value <= 100 ? kSuccess : kInvalidValue;
    if (attribute != kFunctionMaxDynamicShared || value < 0 ||
        value > shared_by_opt_in() - function->static_shared)
      return kInvalidValue;
    function->most_dynamic_shared = value;
    return kSuccess;
  });
}

Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, FunctionHandle function, int threads,
                                                   std::size_t shared) {
  return use_function("cuOccupancyMaxActiveBlocksPerMultiprocessor", function, [&] {
    if (blocks == nullptr || threads < 1) return kInvalidValue;
    *blocks = active_blocks(*function, threads, shared);
    return kSuccess;
  });
}

Result cuLaunchKernel(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                      StreamHandle handle, void** parameters, void** extra) {
  return enter_stream("cuLaunchKernel", handle, [&](StreamData& stream) {
    const std::shared_ptr<ModuleData> module = module_of(function);
    if (module == nullptr) return kInvalidHandle;
    if (extra != nullptr) return kNotSupported;
    const Launch launch{function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared};
    if (const Result refused = check(launch, parameters); refused != kSuccess) return refused;
    return give(stream, kernel_node(launch, module, parameters));
  });
}

}  // extern "C"
}  // namespace kiln::cuda

// Owns modules and functions of the fake driver.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensor/cuda/api_types.h"
#include "tests/cuda/fake/loaded_code.h"
#include "tests/cuda/fake/shim/abi.h"

namespace kiln::cuda {

struct FunctionData {
  const ModuleData* module = nullptr;
  const KilnFakeLibrary* library = nullptr;
  const KilnFakeKernel* kernel = nullptr;
  int static_shared = 0;        // bytes of its variables, and of those of functions that it may call
  int most_dynamic_shared = 0;  // that it has opted into; 0: what is left of 48 KiB
};

struct ModuleData {
  ModuleData() = default;
  ~ModuleData();
  ModuleData(const ModuleData&) = delete;
  ModuleData& operator=(const ModuleData&) = delete;

  void* handle = nullptr;  // of the library
  const KilnFakeLibrary* library = nullptr;
  fake::LoadedCode code;
  std::vector<std::unique_ptr<FunctionData>> functions;
};

}  // namespace kiln::cuda

namespace kiln::fake {

using namespace kiln::cuda;

// Opens the library; null where the system cannot.
std::unique_ptr<ModuleData> open_module(const std::string& library);

}  // namespace kiln::fake

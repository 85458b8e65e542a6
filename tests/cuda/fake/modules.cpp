#include "tests/cuda/fake/modules.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tests/cuda/fake/library_file.h"

namespace kiln::cuda {

ModuleData::~ModuleData() {
  if (handle != nullptr) dlclose(handle);
}

}  // namespace kiln::cuda

namespace kiln::fake {
namespace {

LoadedCode loaded_code(const std::string& library, void* handle) {
  LoadedCode code;
  link_map* place = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &place) != 0) return code;
  code.begin = place->l_addr;
  code.lines = section_of(library, ".debug_line");
  for (const auto& [begin, end] : constant_parts(library))
    code.constants.push_back({code.begin + begin, code.begin + end, "constants"});
  for (const SharedVariable& variable : shared_variables(library)) {
    const Address begin = code.begin + variable.offset;
    code.shared.push_back({begin, begin + variable.bytes, "`" + variable.name() + "`"});
  }
  return code;
}

}  // namespace

std::unique_ptr<ModuleData> open_module(const std::string& library) {
  // A file with a name that no other library has had: by that the system knows which ones are open already.
  std::string path = (std::filesystem::temp_directory_path() / "kiln_fake_module_XXXXXX").string();
  const int file = mkstemp(path.data());
  if (file < 0) return nullptr;
  auto module = std::make_unique<ModuleData>();
  if (write(file, library.data(), library.size()) == static_cast<ssize_t>(library.size()))
    module->handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  close(file);
  unlink(path.c_str());
  if (module->handle == nullptr) {
    std::fprintf(stderr, "fake CUDA: %s\n", dlerror());
    return nullptr;
  }
  module->library = static_cast<const KilnFakeLibrary*>(dlsym(module->handle, "kiln_fake_library"));
  module->code = loaded_code(library, module->handle);
  std::vector<std::string> names;
  for (unsigned i = 0; i < module->library->count; ++i) names.emplace_back(module->library->kernels[i].name);
  for (unsigned i = 0; i < module->library->count; ++i) {
    auto function = std::make_unique<FunctionData>();
    *function = {module.get(), module->library, &module->library->kernels[i],
                 static_cast<int>(static_shared_of(library, names, names[i])), 0};
    module->functions.push_back(std::move(function));
  }
  return module;
}

}  // namespace kiln::fake

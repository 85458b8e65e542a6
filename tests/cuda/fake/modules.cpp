#include "tests/cuda/fake/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>
#include <utility>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace kiln::cuda {

ModuleData::~ModuleData() {
  if (handle != nullptr) dlclose(handle);
}

}  // namespace kiln::cuda

namespace kiln::fake {
namespace {

// A table of records within the bytes of a library.
template <class T>
std::vector<T> records(const std::string& bytes, std::uint64_t at, std::uint64_t count) {
  std::vector<T> all;
  if (at > bytes.size() || count > (bytes.size() - at) / sizeof(T)) return all;
  all.resize(count);
  std::memcpy(static_cast<void*>(all.data()), bytes.data() + at, count * sizeof(T));
  return all;
}

std::vector<Elf64_Shdr> sections_of(const std::string& library) {
  const auto head = records<Elf64_Ehdr>(library, 0, 1);
  return head.empty() ? std::vector<Elf64_Shdr>()
                      : records<Elf64_Shdr>(library, head[0].e_shoff, head[0].e_shnum);
}

std::string_view text_at(const std::string& library, const Elf64_Shdr& table, std::uint64_t at) {
  const std::uint64_t begin = table.sh_offset + at;
  return begin < library.size() ? std::string_view(library.c_str() + begin) : std::string_view();
}

// The name of a variable in a function begins with the function's: _ZZ4foldvE4part.
bool is_of(std::string_view variable, const std::string& function) {
  return variable.starts_with("_ZZ" + std::to_string(function.size()) + function + "E");
}

bool is_of_another(std::string_view variable, const std::vector<std::string>& functions,
                   const std::string& function) {
  if (is_of(variable, function)) return false;
  for (const std::string& other : functions) {
    if (is_of(variable, other)) return true;
  }
  return false;
}

struct Variable {
  std::string_view name;
  std::size_t bytes;
};

std::vector<Variable> shared_variables(const std::string& library) {
  std::vector<Variable> variables;
  const std::vector<Elf64_Shdr> sections = sections_of(library);
  const auto head = records<Elf64_Ehdr>(library, 0, 1);
  for (const Elf64_Shdr& symbols : sections) {
    if (symbols.sh_type != SHT_SYMTAB || symbols.sh_link >= sections.size()) continue;
    for (const auto& symbol :
         records<Elf64_Sym>(library, symbols.sh_offset, symbols.sh_size / sizeof(Elf64_Sym))) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx >= sections.size()) continue;
      const std::string_view section =
          text_at(library, sections[head[0].e_shstrndx], sections[symbol.st_shndx].sh_name);
      if (section == "kiln_fake_shared")
        variables.push_back({text_at(library, sections[symbols.sh_link], symbol.st_name), symbol.st_size});
    }
  }
  return variables;
}

std::size_t static_shared_of(const std::string& library, const std::vector<std::string>& kernels,
                             const std::string& kernel) {
  std::size_t bytes = 0;
  for (const Variable& variable : shared_variables(library)) {
    if (!is_of_another(variable.name, kernels, kernel)) bytes += variable.bytes;
  }
  return bytes;
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

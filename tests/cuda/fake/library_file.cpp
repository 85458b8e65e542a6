#include "tests/cuda/fake/library_file.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

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

std::vector<Elf64_Ehdr> head_of(const std::string& library) { return records<Elf64_Ehdr>(library, 0, 1); }

std::vector<Elf64_Shdr> sections_of(const std::string& library) {
  const auto head = head_of(library);
  return head.empty() ? std::vector<Elf64_Shdr>()
                      : records<Elf64_Shdr>(library, head[0].e_shoff, head[0].e_shnum);
}

std::string_view text_at(const std::string& library, const Elf64_Shdr& table, std::uint64_t at) {
  const std::uint64_t begin = table.sh_offset + at;
  return begin < library.size() ? std::string_view(library.c_str() + begin) : std::string_view();
}

std::string_view name_of(const std::string& library, const std::vector<Elf64_Shdr>& sections,
                         const Elf64_Shdr& section) {
  const std::size_t names = head_of(library)[0].e_shstrndx;
  return names < sections.size() ? text_at(library, sections[names], section.sh_name) : std::string_view();
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

}  // namespace

// That of a function's variable is written behind the function: fold()::part.
std::string SharedVariable::name() const {
  int failed = 0;
  char* const text = abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &failed);
  std::string name(failed == 0 ? text : symbol);
  std::free(text);
  const std::size_t scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

std::vector<SharedVariable> shared_variables(const std::string& library) {
  std::vector<SharedVariable> variables;
  const std::vector<Elf64_Shdr> sections = sections_of(library);
  for (const Elf64_Shdr& symbols : sections) {
    if (symbols.sh_type != SHT_SYMTAB || symbols.sh_link >= sections.size()) continue;
    for (const auto& symbol :
         records<Elf64_Sym>(library, symbols.sh_offset, symbols.sh_size / sizeof(Elf64_Sym))) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx >= sections.size()) continue;
      if (name_of(library, sections, sections[symbol.st_shndx]) != "kiln_fake_shared") continue;
      variables.push_back(
          {text_at(library, sections[symbols.sh_link], symbol.st_name), symbol.st_value, symbol.st_size});
    }
  }
  std::sort(variables.begin(), variables.end(),
            [](const SharedVariable& a, const SharedVariable& b) { return a.offset < b.offset; });
  return variables;
}

std::size_t static_shared_of(const std::string& library, const std::vector<std::string>& kernels,
                             const std::string& kernel) {
  std::size_t bytes = 0;
  for (const SharedVariable& variable : shared_variables(library)) {
    if (!is_of_another(variable.symbol, kernels, kernel)) bytes += variable.bytes;
  }
  return bytes;
}

std::string_view section_of(const std::string& library, std::string_view name) {
  const std::vector<Elf64_Shdr> sections = sections_of(library);
  for (const Elf64_Shdr& section : sections) {
    if (name_of(library, sections, section) == name && section.sh_offset <= library.size())
      return std::string_view(library).substr(section.sh_offset, section.sh_size);
  }
  return {};
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> constant_parts(const std::string& library) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;
  for (const Elf64_Ehdr& head : head_of(library)) {
    for (const auto& part : records<Elf64_Phdr>(library, head.e_phoff, head.e_phnum)) {
      if (part.p_type == PT_LOAD && (part.p_flags & PF_W) == 0)
        parts.emplace_back(part.p_vaddr, part.p_vaddr + part.p_memsz);
    }
  }
  return parts;
}

}  // namespace kiln::fake

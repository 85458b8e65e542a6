#include "jit/object.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tensor/error.h"
#include "tensor/integers.h"

namespace kiln::jit {

struct Code::Symbols {
  std::map<std::string, std::byte*, std::less<>> functions;
};

namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw InternalError("machine code that cannot be loaded: " + why);
}

constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

// How code reaches what lies elsewhere: a jump through an address that stands behind it.
struct Stub {
  std::uint8_t jump[8] = {0xff, 0x25, 2, 0, 0, 0, 0x90, 0x90};  // jmp *[rip + 2]
  std::uint64_t address = 0;
};

class Loader {
 public:
  explicit Loader(std::string_view object) : object_(object) {
    header_ = at<Elf64_Ehdr>(0);
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 || header_.e_machine != EM_X86_64 ||
        header_.e_type != ET_REL)
      refuse("it is no object of this machine");
    for (std::size_t i = 0; i < header_.e_shnum; ++i)
      sections_.push_back(at<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr)));
    read_symbols();
    lay_out();
  }

  // Everything in one piece, so that no distance within it is too long for an instruction.
  std::size_t size() const { return size_; }

  void put(std::byte* memory) {
    memory_ = memory;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& section = sections_[i];
      if (places_[i] == kNowhere || section.sh_type == SHT_NOBITS) continue;
      const std::string_view bytes = range(section.sh_offset, section.sh_size);
      std::memcpy(memory + places_[i], bytes.data(), bytes.size());
    }
    for (const auto& [symbol, place] : stubs_) {
      Stub stub;
      stub.address = reinterpret_cast<std::uint64_t>(outside(symbol));
      std::memcpy(memory + place, &stub, sizeof stub);
    }
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type == SHT_RELA && placed(section.sh_info)) relocate(section);
    }
  }

  std::map<std::string, std::byte*, std::less<>> functions() const {
    std::map<std::string, std::byte*, std::less<>> found;
    for (const Elf64_Sym& symbol : symbols_) {
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && placed(symbol.st_shndx))
        found.emplace(name_of(symbol), memory_ + places_[symbol.st_shndx] + symbol.st_value);
    }
    return found;
  }

 private:
  std::string_view range(std::size_t offset, std::size_t size) const {
    if (offset > object_.size() || size > object_.size() - offset) refuse("it ends too early");
    return object_.substr(offset, size);
  }
  template <class T>
  T at(std::size_t offset) const {
    T value;
    std::memcpy(&value, range(offset, sizeof value).data(), sizeof value);
    return value;
  }
  bool placed(std::size_t section) const { return section < places_.size() && places_[section] != kNowhere; }

  void read_symbols() {
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_SYMTAB) continue;
      for (std::size_t k = 0; k < section.sh_size / sizeof(Elf64_Sym); ++k)
        symbols_.push_back(at<Elf64_Sym>(section.sh_offset + k * sizeof(Elf64_Sym)));
      if (section.sh_link >= sections_.size()) refuse("its symbols have no names");
      const Elf64_Shdr& names = sections_[section.sh_link];
      names_ = range(names.sh_offset, names.sh_size);
    }
  }
  std::string name_of(const Elf64_Sym& symbol) const {
    if (symbol.st_name >= names_.size()) refuse("a symbol has no name");
    const std::string_view rest = names_.substr(symbol.st_name);
    return std::string(rest.substr(0, rest.find('\0')));
  }

  // Tables for unwinding are left out: they would have to be registered, and nothing is thrown.
  void lay_out() {
    for (const Elf64_Shdr& section : sections_) {
      const bool needed = (section.sh_flags & SHF_ALLOC) != 0 && section.sh_type != SHT_X86_64_UNWIND;
      if (needed) size_ = round_up(size_, std::max<std::size_t>(section.sh_addralign, 1));
      places_.push_back(needed ? size_ : kNowhere);
      if (needed) size_ += section.sh_size;
    }
    for (std::size_t k = 1; k < symbols_.size(); ++k) {
      if (symbols_[k].st_shndx != SHN_UNDEF) continue;
      size_ = round_up(size_, alignof(Stub));
      stubs_.emplace(k, size_);
      size_ += sizeof(Stub);
    }
  }

  void* outside(std::size_t symbol) const {
    const std::string name = name_of(symbols_[symbol]);
    void* const found = dlsym(RTLD_DEFAULT, name.c_str());
    if (found == nullptr) refuse("it calls " + name + ", which is not here");
    return found;
  }

  void relocate(const Elf64_Shdr& section) {
    for (std::size_t k = 0; k < section.sh_size / sizeof(Elf64_Rela); ++k) {
      const auto entry = at<Elf64_Rela>(section.sh_offset + k * sizeof(Elf64_Rela));
      if (entry.r_offset > sections_[section.sh_info].sh_size) refuse("it is changed beyond its end");
      apply(memory_ + places_[section.sh_info] + entry.r_offset, entry);
    }
  }

  void apply(std::byte* where, const Elf64_Rela& entry) {
    const std::size_t index = ELF64_R_SYM(entry.r_info);
    if (index >= symbols_.size()) refuse("it refers to no symbol");
    const Elf64_Sym& symbol = symbols_[index];
    const bool is_outside = symbol.st_shndx == SHN_UNDEF;
    if (!is_outside && !placed(symbol.st_shndx)) refuse("it refers to what is not loaded");
    std::byte* const target =
        memory_ + (is_outside ? stubs_.at(index) : places_[symbol.st_shndx] + symbol.st_value);
    const auto distance = [&](const std::byte* to) {
      const auto value = static_cast<std::int32_t>(to - where + entry.r_addend);
      std::memcpy(where, &value, sizeof value);
    };
    switch (ELF64_R_TYPE(entry.r_info)) {
      case R_X86_64_PC32:
      case R_X86_64_PLT32:
        return distance(target);
      case R_X86_64_GOTPCREL:
      case R_X86_64_GOTPCRELX:
      case R_X86_64_REX_GOTPCRELX:
        if (!is_outside) break;
        return distance(target + offsetof(Stub, address));
      case R_X86_64_64: {
        if (is_outside) break;
        const std::uint64_t value = reinterpret_cast<std::uint64_t>(target) + entry.r_addend;
        std::memcpy(where, &value, sizeof value);
        return;
      }
      default:
        break;
    }
    refuse("relocation " + std::to_string(ELF64_R_TYPE(entry.r_info)));
  }

  std::string_view object_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::string_view names_;
  std::vector<std::size_t> places_;           // by section
  std::map<std::size_t, std::size_t> stubs_;  // by symbol that lies elsewhere
  std::size_t size_ = 0;
  std::byte* memory_ = nullptr;
};

}  // namespace

Code::Code(std::byte* memory, std::size_t size, std::unique_ptr<const Symbols> symbols)
    : memory_(memory), size_(size), symbols_(std::move(symbols)) {}

Code::~Code() { munmap(memory_, size_); }

std::shared_ptr<Code> Code::load(std::string_view object) {
  Loader loader(object);
  const std::size_t size =
      round_up(std::max<std::size_t>(loader.size(), 1), static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) refuse("there is no memory for it");
  std::shared_ptr<Code> code(new Code(static_cast<std::byte*>(memory), size, nullptr));
  loader.put(code->memory_);
  code->symbols_ = std::make_unique<const Symbols>(Symbols{loader.functions()});
  if (mprotect(memory, size, PROT_READ | PROT_EXEC) != 0) refuse("the system does not let it run");
  return code;
}

void* Code::find(std::string_view symbol) const {
  const auto found = symbols_->functions.find(symbol);
  if (found == symbols_->functions.end()) refuse("there is no function " + std::string(symbol));
  return found->second;
}

}  // namespace kiln::jit

#include "jit/cpu/object.h"

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
#include <utility>
#include <vector>

#include "jit/passes/target.h"
#include "tensor/error.h"
#include "tensor/integers.h"

namespace kiln::jit {

struct Code::Symbols {
  std::map<std::string, std::byte*, std::less<>> functions;
};

namespace {

[[noreturn]] void refuse_object(const std::string& why) {
  throw InternalError("machine code that cannot be loaded: " + why);
}

constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // no distance within may leave 32 bits
constexpr std::size_t kMostAlignment = 4096;              // a page: memory is aligned no better
// How far behind the bytes that hold a distance an instruction may end, which is what it counts from.
constexpr std::int64_t kMostBehind = 8;

// Code reaches a function elsewhere by a jump through the address stored behind the jump.
struct Stub {
  std::uint8_t jump[8] = {0xff, 0x25, 2, 0, 0, 0, 0x90, 0x90};  // jmp *[rip + 2]
  std::uint64_t address = 0;
};

class Loader {
 public:
  explicit Loader(std::string_view object) : object_(object) {
    header_ = at<Elf64_Ehdr>(0);
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 || header_.e_ident[EI_CLASS] != ELFCLASS64 ||
        header_.e_ident[EI_DATA] != ELFDATA2LSB || header_.e_machine != EM_X86_64 || header_.e_type != ET_REL)
      refuse_object("it is no object of this machine");
    if (header_.e_shnum > 0 && header_.e_shentsize != sizeof(Elf64_Shdr))
      refuse_object("its sections have another size");
    sections_ = table<Elf64_Shdr>(header_.e_shoff, header_.e_shnum * sizeof(Elf64_Shdr));
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
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || !placed(symbol.st_shndx)) continue;
      const Elf64_Shdr& section = sections_[symbol.st_shndx];
      if ((section.sh_flags & SHF_EXECINSTR) == 0 || symbol.st_value >= section.sh_size ||
          symbol.st_size > section.sh_size - symbol.st_value)
        refuse_object("a function is not in its section");
      found.emplace(name_of(symbol), memory_ + places_[symbol.st_shndx] + symbol.st_value);
    }
    return found;
  }

 private:
  std::string_view range(std::size_t offset, std::size_t size) const {
    if (offset > object_.size() || size > object_.size() - offset) refuse_object("it ends too early");
    return object_.substr(offset, size);
  }
  template <class T>
  T at(std::size_t offset) const {
    T value;
    std::memcpy(&value, range(offset, sizeof value).data(), sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> table(std::size_t offset, std::size_t bytes) const {
    const std::string_view from = range(offset, bytes);
    std::vector<T> items(bytes / sizeof(T));
    if (!items.empty()) std::memcpy(items.data(), from.data(), items.size() * sizeof(T));
    return items;
  }
  bool placed(std::size_t section) const { return section < places_.size() && places_[section] != kNowhere; }

  void read_symbols() {
    bool found = false;
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_SYMTAB) continue;
      if (std::exchange(found, true)) refuse_object("it has two tables of symbols");
      if (section.sh_link >= sections_.size()) refuse_object("its symbols have no names");
      const Elf64_Shdr& names = sections_[section.sh_link];
      names_ = range(names.sh_offset, names.sh_size);
      symbols_ = table<Elf64_Sym>(section.sh_offset, section.sh_size);
    }
  }
  std::string name_of(const Elf64_Sym& symbol) const {
    if (symbol.st_name >= names_.size()) refuse_object("a symbol has no name");
    const std::string_view rest = names_.substr(symbol.st_name);
    return std::string(rest.substr(0, rest.find('\0')));
  }

  // Room for so many bytes behind what there is.
  std::size_t take(std::size_t bytes, std::size_t alignment) {
    const std::size_t place = round_up(size_, std::max<std::size_t>(alignment, 1));
    if (bytes > kMostBytes || place > kMostBytes - bytes) refuse_object("it is too large");
    size_ = place + bytes;
    return place;
  }

  // Tables for unwinding are left out: they would have to be registered, and nothing is thrown.
  void lay_out() {
    for (const Elf64_Shdr& section : sections_) {
      if ((section.sh_flags & SHF_ALLOC) == 0 || section.sh_type == SHT_X86_64_UNWIND) {
        places_.push_back(kNowhere);
        continue;
      }
      const std::size_t alignment = section.sh_addralign;
      if ((alignment & (alignment - 1)) != 0 || alignment > kMostAlignment)
        refuse_object("a section is aligned in no way");
      if (section.sh_type != SHT_NOBITS) static_cast<void>(range(section.sh_offset, section.sh_size));
      places_.push_back(take(section.sh_size, alignment));
    }
    for (std::size_t k = 1; k < symbols_.size(); ++k) {
      if (symbols_[k].st_shndx == SHN_UNDEF) stubs_.emplace(k, take(sizeof(Stub), alignof(Stub)));
    }
  }

  void* outside(std::size_t symbol) const {
    const std::string name = name_of(symbols_[symbol]);
    void* const found = dlsym(RTLD_DEFAULT, name.c_str());
    if (found == nullptr) refuse_object("it calls " + name + ", which is not here");
    return found;
  }

  void relocate(const Elf64_Shdr& section) {
    for (const auto& entry : table<Elf64_Rela>(section.sh_offset, section.sh_size))
      apply(sections_[section.sh_info].sh_size, places_[section.sh_info], entry);
  }

  // Where a symbol is: its own place, or that of the jump to it.
  std::size_t place_of(std::size_t index) const {
    if (index >= symbols_.size()) refuse_object("it refers to no symbol");
    const Elf64_Sym& symbol = symbols_[index];
    if (symbol.st_shndx == SHN_UNDEF) {
      const auto stub = stubs_.find(index);
      if (stub == stubs_.end()) refuse_object("it refers to no symbol");
      return stub->second;
    }
    if (!placed(symbol.st_shndx)) refuse_object("it refers to what is not loaded");
    if (symbol.st_value > sections_[symbol.st_shndx].sh_size) refuse_object("a symbol is not in its section");
    return places_[symbol.st_shndx] + symbol.st_value;
  }

  // A value of `bytes` bytes is written into a section, where its bounds and those of all that is loaded
  // allow.
  template <class T>
  void write(std::size_t section_size, std::size_t section, std::size_t offset, T value) const {
    if (offset > section_size || sizeof value > section_size - offset)
      refuse_object("it is changed beyond its end");
    std::memcpy(memory_ + section + offset, &value, sizeof value);
  }
  std::int64_t inside(std::size_t place, std::int64_t addend) const {
    std::int64_t target = 0;
    if (__builtin_add_overflow(static_cast<std::int64_t>(place), addend, &target) || target < -kMostBehind ||
        target > static_cast<std::int64_t>(size_))
      refuse_object("it points beyond its end");
    return target;
  }

  void apply(std::size_t section_size, std::size_t section, const Elf64_Rela& entry) const {
    const std::size_t index = ELF64_R_SYM(entry.r_info);
    const std::size_t place = place_of(index);
    const bool is_outside = symbols_[index].st_shndx == SHN_UNDEF;
    const auto distance = [&](std::size_t to) {
      const std::int64_t target = inside(to, entry.r_addend);
      if (entry.r_offset > section_size) refuse_object("it is changed beyond its end");
      const auto from = static_cast<std::int64_t>(section + entry.r_offset);
      write(section_size, section, entry.r_offset, static_cast<std::int32_t>(target - from));
    };
    switch (ELF64_R_TYPE(entry.r_info)) {
      case R_X86_64_PC32:
      case R_X86_64_PLT32:
        return distance(place);
      case R_X86_64_GOTPCREL:
      case R_X86_64_GOTPCRELX:
      case R_X86_64_REX_GOTPCRELX:
        if (!is_outside) break;
        return distance(place + offsetof(Stub, address));
      case R_X86_64_64:
        if (is_outside) break;
        return write(section_size, section, entry.r_offset,
                     reinterpret_cast<std::uint64_t>(memory_) +
                         static_cast<std::uint64_t>(inside(place, entry.r_addend)));
      default:
        break;
    }
    refuse_object("relocation " + std::to_string(ELF64_R_TYPE(entry.r_info)));
  }

  std::string_view object_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::string_view names_;
  std::vector<std::size_t> places_;           // by section
  std::map<std::size_t, std::size_t> stubs_;  // by symbol of another object
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
  if (memory == MAP_FAILED) refuse_object("there is no memory for it");
  std::shared_ptr<Code> code(new Code(static_cast<std::byte*>(memory), size, nullptr));
  loader.put(code->memory_);
  code->symbols_ = std::make_unique<const Symbols>(Symbols{loader.functions()});
  if (mprotect(memory, size, PROT_READ | PROT_EXEC) != 0) refuse_object("the system does not let it run");
  return code;
}

void* Code::find(std::string_view symbol) const {
  const auto found = symbols_->functions.find(symbol);
  if (found == symbols_->functions.end()) refuse_object("there is no function " + std::string(symbol));
  return found->second;
}

void* Code::function(std::size_t nest) const { return find(kernel_symbol(nest)); }

}  // namespace kiln::jit

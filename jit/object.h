// Owns machine code in memory: a relocatable object, as compilers write them, made ready to run. No compiler
// is needed for that, so code that was made earlier runs without one.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace kiln::jit {

class Code {
 public:
  // Of an ELF object for x86-64, position independent. Throws InternalError for what is none, what needs a
  // symbol that nobody has, and what is malformed: nothing outside the bytes is read, nothing outside the
  // code's own memory written or pointed to. Unwinding goes not through it: nothing may be thrown across.
  static std::shared_ptr<Code> load(std::string_view object);
  ~Code();
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  // Where a function of the object lies. Throws InternalError when there is none of that name.
  void* find(std::string_view symbol) const;
  std::size_t bytes() const { return size_; }

 private:
  struct Symbols;
  Code(std::byte* memory, std::size_t size, std::unique_ptr<const Symbols> symbols);

  std::byte* memory_;
  std::size_t size_;
  std::unique_ptr<const Symbols> symbols_;
};

}  // namespace kiln::jit

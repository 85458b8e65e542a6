// Owns machine code in memory: a relocatable object, as compilers write them, made ready to run. No compiler
// is needed for that, so code that was made earlier runs without one.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "jit/loops/kernel.h"

namespace kiln::jit {

class Code final : public LoadedCode {
 public:
  // Loads a position independent ELF object for x86-64. Throws InternalError for anything else, for an object
  // that needs an unknown symbol, and for a malformed one: nothing outside of the bytes is read, and nothing
  // outside of the code's own memory written or pointed to. Exceptions must not pass through the code.
  static std::shared_ptr<Code> load(std::string_view object);
  ~Code() override;
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  // The address of a function. Throws InternalError when there is none of that name.
  void* find(std::string_view symbol) const;
  void* function(std::size_t nest) const override;
  std::size_t bytes() const override { return size_; }

 private:
  struct Symbols;
  Code(std::byte* memory, std::size_t size, std::unique_ptr<const Symbols> symbols);

  std::byte* memory_;
  std::size_t size_;
  std::unique_ptr<const Symbols> symbols_;
};

}  // namespace kiln::jit

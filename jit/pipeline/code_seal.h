// Owns the key of the machine code on disk: only who has it can write code that will run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "jit/llvm/keyed_sum.h"

namespace kiln::jit {

class CodeSeal {
 public:
  static constexpr std::size_t kBytes = kSumBytes;

  // The key in the file `path`, which is made when there is none, or when another user could have read or
  // written it. Nothing when that cannot be done.
  static std::optional<CodeSeal> of(const std::string& path);

  // The keyed sum (jit/llvm/keyed_sum.h) of the parts one behind the other.
  std::string sum(std::initializer_list<std::string_view> parts) const;
  // Whether a sum is that of the parts; how long that takes tells nothing of the right one.
  bool holds(std::string_view sum, std::initializer_list<std::string_view> parts) const;

 private:
  explicit CodeSeal(std::string_view key);
  std::array<std::uint8_t, kSumKeyBytes> key_{};
};

}  // namespace kiln::jit

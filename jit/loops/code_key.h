// Owns what the machine code of scheduled nests depends on, as bytes: equal keys, equal code.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "jit/loops/schedule.h"

namespace kiln::jit {

// Bytes that tell apart what code is made of, field by field.
class CodeKey {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put(std::string_view text) {
    put(text.size());
    text_ += text;
  }
  void put(const Instruction& step);
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Neither names nor sizes, nor which tensors are read: the same kernel of other tensors is the same code.
// `compiler` tells what makes the code, `processor` what for.
std::string code_key(std::span<const ScheduledNest> nests, std::string_view compiler,
                     std::string_view processor);

}  // namespace kiln::jit

// Owns where compiled code is kept beyond the process, for every device that makes some.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace kiln {

// Code is found by all that decides it, and is what was kept, or nothing (jit/pipeline/code_cache.h).
struct CodeStore {
  std::function<std::optional<std::string>(std::string_view key)> find;
  std::function<void(std::string_view key, std::string_view code)> keep;
};
void use_code_store(CodeStore store);
CodeStore code_store();  // empty functions where nothing is kept

}  // namespace kiln

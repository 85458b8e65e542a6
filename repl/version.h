// Owns the version that `kiln --version` and failure reports name.
#pragma once

#include <string_view>

namespace kiln::repl {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace kiln::repl

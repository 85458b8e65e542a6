// Owns how host code raises an error of the language.
#pragma once

#include <string>
#include <string_view>

namespace kiln::interp {

// As messages write what stands in a program.
inline std::string quoted(std::string_view text) { return "`" + std::string(text) + "`"; }

// The error a native raises; the VM adds place, operands' origins and trace.
[[noreturn]] void raise(std::string_view kind, std::string message, std::string help = {});

}  // namespace kiln::interp

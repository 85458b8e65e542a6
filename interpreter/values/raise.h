// Owns how host code raises an error of the language.
#pragma once

#include <string>
#include <string_view>

namespace kiln::interp {

// The error a native raises; the VM adds place, operands' origins and trace.
[[noreturn]] void raise(std::string_view kind, std::string message, std::string help = {});

}  // namespace kiln::interp

#include "tensor/error.h"

#include <array>

namespace kiln {

std::string_view name(ErrorKind kind) {
  static constexpr std::array<std::string_view, 21> kNames = {
      "SyntaxError", "NameError",      "TypeError",      "ValueError",     "ShapeError",    "DTypeError",
      "IndexError",  "KeyError",       "AttributeError", "DeviceError",    "AutogradError", "CaptureError",
      "IOError",     "AssertionError", "OverflowError",  "RecursionError", "OutOfMemory",   "RanksLost",
      "Interrupted", "Error",          "InternalError"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace kiln

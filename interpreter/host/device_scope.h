// Owns `with device(d)`: a device as a scope of the default device.
#pragma once

#include <span>

#include "interpreter/values/natives.h"

namespace kiln::interp::host {

Value enter_device(Interpreter& interpreter, std::span<Value> arguments);
Value exit_device(Interpreter& interpreter, std::span<Value> arguments);

}  // namespace kiln::interp::host

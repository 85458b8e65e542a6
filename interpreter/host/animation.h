// Owns animations: matrices, pictures and figures as a GIF.
#pragma once

#include <span>

#include "interpreter/values/objects.h"

namespace kiln::interp::host {

// animate(frames, file, fps, cmap, vmin, vmax, width, height)
Value animate(Interpreter& interpreter, std::span<Value> arguments);

}  // namespace kiln::interp::host

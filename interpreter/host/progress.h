// Owns the progress bar.
#pragma once

#include <span>

#include "interpreter/values/natives.h"

namespace kiln::interp::host {

Value progress(Interpreter& interpreter, std::span<Value> arguments);

// "epoch 1:  42%|████▏     | 420/1000 00:03<00:04, 139/s" within `width` columns; without a total only the
// count.
struct ProgressState {
  std::string description;
  std::int64_t done = 0;
  std::int64_t total = -1;
  double seconds = 0;
};
std::string progress_line(const ProgressState& state, int width);

}  // namespace kiln::interp::host

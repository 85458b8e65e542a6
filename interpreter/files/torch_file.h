// Owns reading files that PyTorch wrote by `torch.save`.
#pragma once

#include <string>
#include <string_view>

#include "interpreter/values/value.h"

namespace kiln::interp::files {

// The value of a file in PyTorch's zip format: dicts (ordered ones, too), lists, tuples, numbers, texts and
// tensors, which share memory as they did. Anything else is a DamagedFile that names the class or function.
Value read_torch(const std::string& path);

// Do these first bytes begin a file in the format before PyTorch 1.6?
bool is_old_torch(std::string_view start);

}  // namespace kiln::interp::files

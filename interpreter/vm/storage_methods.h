// Owns the facts about methods that may give a tensor other memory.
#pragma once

#include <span>

#include "interpreter/values/value.h"

namespace kiln::interp::host {

// Would `x.resize_(sizes)` need more elements than x has? And may other tensors see its memory?
bool grows(const kiln::Tensor& x, std::span<const Value> sizes);
bool grows_shared(const kiln::Tensor& x, std::span<const Value> sizes);

}  // namespace kiln::interp::host

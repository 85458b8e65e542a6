// Owns what others must know of methods that change which memory a tensor lies in.
#pragma once

#include <span>

#include "interpreter/value.h"

namespace kiln::interp::host {

// Would `x.resize_(sizes)` need more elements than x has? And in memory that others may see?
bool grows(const kiln::Tensor& x, std::span<const Value> sizes);
bool grows_shared(const kiln::Tensor& x, std::span<const Value> sizes);

}  // namespace kiln::interp::host

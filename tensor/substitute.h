// Owns putting sizes in the place of symbols: an expression of one graph becomes one of another.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "tensor/dim.h"

namespace kiln {

using SymbolSizes = std::map<std::string, Dim, std::less<>>;  // what symbols stand for, by name

// The size with these in the place of its symbols. Throws InternalError for a symbol without one, and what
// operators on sizes throw.
Dim substitute(Dim size, const SymbolSizes& sizes);

}  // namespace kiln

// Owns the making of iterators whose parts say how they go on.
#pragma once

#include <vector>

#include "interpreter/values/objects.h"

namespace kiln::interp {

// An iterator of a form that is not opaque, with such parts.
Value iterator_of(IteratorForm form, std::vector<Value> parts);

// The letter of a text that a place counts, by code points, and the next place; false at its end.
bool next_letter(const Str& text, Value& place, Value& item);

}  // namespace kiln::interp

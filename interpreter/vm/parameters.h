// Owns which tensors become parameters of a struct when it was made.
#pragma once

#include "interpreter/values/objects.h"

namespace kiln::interp {

// Marks the leaves that require gradients among the fields of an instance, also those within lists, tuples
// and dicts. A struct in a field was made before, and has its own marked.
void mark_parameters(const Instance& instance);

// Would `mark_parameters` mark anything in this value, marked before or not?
bool holds_trained_leaf(const Value& value);

}  // namespace kiln::interp

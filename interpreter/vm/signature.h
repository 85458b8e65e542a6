// Owns which values fit the type that an annotation of a signature names, but for sizes.
#pragma once

#include <string_view>

#include "interpreter/values/value.h"

namespace kiln::interp {

// Does a value have the type that is written without sizes? `written` is the last part of a dotted name.
bool has_written_type(std::string_view written, const Value& v);
// Does a tensor's dtype fit the one that is written before sizes, as `float` or `f32`?
bool fits_written_dtype(std::string_view written, kiln::DType dtype);
// The last part of a dotted name, as `Linear` of `nn.Linear`.
std::string_view last_part(std::string_view dotted);

}  // namespace kiln::interp

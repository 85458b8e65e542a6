// Owns how the type of a value reads in an editor, and what several have in common.
#pragma once

#include <string>

#include "interpreter/check/seen.h"

namespace kiln::editor {

// "f32[3, 4]", "list of 3", "int": as messages say. Throws Unknowable where a part of it is unknown.
std::string type_text(const interp::Value& value);
// The same within a supposed call: "f32[b, 2*d, t + 1]" of a tensor whose sizes follow from those of the
// signature.
std::string type_text(const interp::Value& value, const interp::check::SupposedCall& call);

// "f32[_, 4]" of "f32[3, 4]" and "f32[8, 4]", "list" of "list of 3" and "list of 4", "int or none"; "" when
// too little is left. "" is the type of what nothing is known of.
std::string joined_types(const std::string& a, const std::string& b);

}  // namespace kiln::editor

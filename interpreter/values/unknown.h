// Owns the value that is not known: in a check of a program (interpreter/check), what only a run could tell.
#pragma once

#include <string>
#include <utility>

#include "interpreter/values/objects.h"

namespace kiln::interp {

// Thrown in a check by whatever would look at an unknown value, and where a run would look outside of the
// program. It is no error of the program: the result of the instruction is unknown.
struct Unknowable {
  std::string reason;
};

// A new one: two unknown values are not the same value, while copies of one are.
Value unknown_value();
inline bool is_unknown(const Value& v) { return v.is(Tag::Opaque) && v.as<Opaque>().is_unknown; }

[[noreturn]] void refuse_unknown();
// Before the content of a value is looked at: throws Unknowable for an unknown one.
inline void look_at(const Value& v) {
  if (is_unknown(v)) [[unlikely]]
    refuse_unknown();
}

}  // namespace kiln::interp

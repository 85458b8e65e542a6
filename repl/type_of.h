// Owns the type of an expression, worked out from the types of its parts: what `:type` and completion ask.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "repl/op_types.h"
#include "repl/session.h"

namespace kiln::repl {

// "f32[3, 4]", "int", "list of 3"; or a sentence on what cannot be known without running. Throws UserError
// for what would fail: a syntax error, an unknown name, shapes that do not fit.
std::string type_of(Session& session, std::string_view text);

// The kind of value that a type is of, "list of 3" of a list; nothing for structs and what is not listed.
std::optional<interp::Tag> tag_of(const KnownType& type);

// The type of an expression, as far as it is known without running a function of the program: of a call of
// one, what its signature says. Nothing where it is not known, or would be an error.
std::optional<KnownType> known_type(Session& session, std::string_view expression);

}  // namespace kiln::repl

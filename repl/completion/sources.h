// Owns where candidates come from: one function for each kind of place in a text. All give everything that
// may stand there; `chosen` keeps what fits the word at the cursor.
#pragma once

#include <string_view>
#include <vector>

#include "repl/completion.h"
#include "repl/completion/cursor.h"
#include "repl/type_of.h"

namespace kiln::repl {

using All = std::vector<Candidate>;

// Those that begin with the word, or else those nearest to it: equal but for case, with it inside, or a slip
// away. Keeps the order within each, and leaves out repetitions and names with `_` that the word does not
// begin with.
All chosen(All all, std::string_view word);

// The methods and fields of a value of a known type, and of a tensor where nothing is known.
All members(Session& session, const std::optional<KnownType>& type);
// The names that a module gives, also one of the standard library that is not imported yet.
All names_of_module(Session& session, std::string_view module);
All modules();

// Variables, functions, modules, keywords, and the names that the text itself introduces.
All names(Session& session, const CursorText& text);
// The variables that an operator takes beside a tensor on its left, and what may give such a value.
All operands(Session& session, const KnownType& left, std::string_view spelling);

// Behind `name=` the values of a parameter that takes few.
All values(Session& session, const CursorText& text);
// `name=` for each parameter of the call that the cursor is in, and the values of the one that is next.
All arguments(Session& session, const CursorText& text);
// What a text may be that begins at the cursor: a key, a word that a parameter takes, a file.
All texts(Session& session, const CursorText& text);
All files(std::string_view typed);

// The type of an operand, by its text: of a variable that the text at the cursor assigns, what it assigns.
std::optional<KnownType> type_at(Session& session, const CursorText& text, std::string_view operand);

// Of an entry that is a command.
Candidates command_candidates(Session& session, std::string_view text, std::size_t cursor);

// What kind of thing a value is, and a line on it, as details tell.
Candidate described(std::string name, const interp::Value& value);

}  // namespace kiln::repl

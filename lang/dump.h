// Owns the tree as text, for tests: one parenthesised list per node.
#pragma once

#include <functional>
#include <string>

#include "lang/ast.h"

namespace kiln::lang {

// The statements of a file, one a line: structure and values, without spans, comments or bindings.
std::string dump(const Ast& ast);
std::string dump(const Expr& e);
std::string dump(const Stmt& s);

// Calls `check` with the span of every expression and statement.
void for_each_span(const Ast& ast, const std::function<void(const Span&)>& check);

}  // namespace kiln::lang

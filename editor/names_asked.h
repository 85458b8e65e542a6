// Owns under which names the page of an identifier may be found.
#pragma once

#include "editor/document.h"

namespace kiln::editor {

// Of a name behind a point, the likeliest first: "nn.Linear", "tensor.sum" where the type of what stands
// before the point is known, "sum".
Json names_of_member(Document& document, const lang::AttributeExpr& member);
// The token around an offset; an empty span in white space.
lang::Span token_at(const Analysis& analysis, std::size_t offset);
// "parameter of `f`", "variable": what a symbol is.
std::string kind_text(const Symbol& symbol);

}  // namespace kiln::editor

// Owns what the formatter must know of each token beyond its kind: the part it plays in the grammar.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "lang/source.h"
#include "lang/syntax.h"

namespace kiln::lang {

enum class Role : std::uint8_t {
  Plain,
  Prefix,      // an operator that stands before its operand, `@` before a decorator, `*` that spreads
  Trailer,     // an opening bracket of a call, an index or parameters: no space before it
  SliceColon,  // no spaces around it
  Tight,       // the `=` of a named argument or of a default without a type
  BlockBrace,  // spaces inside when on one line
};

struct TokenRole {
  Role role = Role::Plain;
  bool begins_statement = false;  // or a field or method
  bool is_field = false;          // only with begins_statement
  // A top-level expression ended by `;`, which is kept: it tells the prompt to print nothing.
  bool ends_silent = false;
};

// Token roles by the offset at which the token begins; a token not in it has no role. Throws UserError when
// the file does not parse.
std::unordered_map<std::uint32_t, TokenRole> token_roles(const SourceFile& file);

}  // namespace kiln::lang

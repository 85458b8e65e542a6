// Owns the way from text to a resolved tree: the only door of the front end.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lang/ast.h"
#include "lang/diagnostic.h"

namespace kiln::lang {

// Text to tree. Throws UserError (SyntaxError) at the first mistake. Safe for any bytes: invalid UTF-8,
// nesting deeper than kMaxDepth and unterminated anything are diagnostics.
std::unique_ptr<Ast> parse(const SourceFile& file);
// All mistakes of syntax: after each, reading goes on at the next line that begins a statement. Empty for
// what `parse` takes.
std::vector<Diagnostic> syntax_mistakes(const SourceFile& file);
// The tree of the statements that could be read, for editors; its names are resolved as far as they can be.
struct TolerantAst {
  std::unique_ptr<Ast> ast;
  std::vector<Diagnostic> mistakes;  // of syntax; where there are none, those that `resolve` would throw
};
TolerantAst parse_tolerantly(const SourceFile& file);

// Deepest nesting of expressions and of blocks; the tree never exceeds it, so later passes may recurse.
inline constexpr int kMaxDepth = 500;

// What an entry at the prompt is so far.
enum class Completeness { Complete, Incomplete, Invalid };
Completeness completeness(std::string_view text);

// Decides for each name whether it is local, captured or global and numbers the slots. Throws UserError for
// misuse the text alone shows: `return` outside a function, `nonlocal` without a variable, duplicate
// parameters. `is_defined`: names the module has already, as at the prompt, where `nonlocal` may mean them.
void resolve(Ast& ast, const std::function<bool(std::string_view)>& is_defined = {});
// The same for as many statements of the top level as can be resolved; what it would throw for the others.
std::vector<Diagnostic> resolve_tolerantly(Ast& ast);

// Names that are read but neither assigned anywhere in the module nor known to `is_known` (the prelude), as
// NameError diagnostics in source order. `candidates` are the prelude's names, for did-you-mean.
std::vector<Diagnostic> undefined_names(const Ast& ast, const std::function<bool(std::string_view)>& is_known,
                                        const std::vector<std::string_view>& candidates);

// The text in the one format: 2-space indentation, one statement a line, comments kept, idempotent.
// Throws UserError when the text does not parse.
std::string format(const SourceFile& file);

// Coarse classes of text, for colour while typing; never throws, covers the text without gaps.
enum class TokenClass { Keyword, Name, Number, String, Comment, Operator, Bracket, Space, Invalid };
struct ClassifiedToken {
  TokenClass kind;
  std::uint32_t begin;
  std::uint32_t end;
};
std::vector<ClassifiedToken> classify(std::string_view text);

// The language's reserved words, sorted.
const std::vector<std::string_view>& keywords();

}  // namespace kiln::lang

#include "lang/parse.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "lang/builder.h"
#include "lang/utf8.h"

namespace kiln::lang {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// What must hold of the bytes before they are read as a program.
void check_text(const SourceFile& file) {
  const std::string_view text = file.text();
  if (text.size() > std::numeric_limits<std::int32_t>::max()) {
    syntax_error({&file, 0, 0}, "this file is too large: programs end at 2 GiB", "read data with `load`");
  }
  const std::size_t invalid = find_invalid_utf8(text);
  if (invalid == std::string_view::npos) return;
  const auto at = static_cast<std::uint32_t>(invalid);
  constexpr char kDigits[] = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(text[invalid]);
  syntax_error(
      {&file, at, at + 1},
      std::string("this file is not UTF-8: found the byte 0x") + kDigits[byte >> 4] + kDigits[byte & 15],
      "save it as UTF-8");
}

// `##` lines that open a file, up to a blank line: what its module is for.
std::string module_documentation(std::string_view text) {
  std::string out;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.starts_with("#!")) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  while (text.starts_with("##")) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(2, end - 2);
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!out.empty()) out += '\n';
    out += line;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const bool apart = text.empty() || text.front() == '\n' || text.front() == '\r';
  return apart ? out : "";
}

// The file's own function around statements of its top level.
FunctionExpr* main_of(Ast& ast, std::uint32_t begin, const std::vector<Stmt*>& statements) {
  const SourceFile& file = ast.file();
  auto* main = ast.make<FunctionExpr>(Span{&file, begin, static_cast<std::uint32_t>(file.text().size())});
  main->name = "main";
  main->documentation = ast.copy(module_documentation(file.text()));
  main->body = ast.make<Block>();
  main->body->span = main->span;
  main->body->statements = ast.copy(std::span<Stmt* const>(statements));
  return main;
}

std::uint32_t text_begin(const SourceFile& file) {
  return file.text().starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
}

// Reads statements from `begin` on, up to the end or a mistake, which it throws.
void read_statements(Ast& ast, std::uint32_t begin, std::vector<Stmt*>& statements) {
  const SourceFile& file = ast.file();
  SyntaxReader reader(file, begin, static_cast<std::uint32_t>(file.text().size()), false, 0);
  Builder builder(ast, file);
  for (Syntax syntax; reader.next_statement(syntax);)
    statements.push_back(builder.top_statement(syntax, reader.documentation()));
}

}  // namespace

std::unique_ptr<Ast> parse(const SourceFile& file) {
  check_text(file);
  auto ast = std::make_unique<Ast>(file);
  std::vector<Stmt*> statements;
  read_statements(*ast, text_begin(file), statements);
  ast->main = main_of(*ast, text_begin(file), statements);
  return ast;
}

namespace {

// The next line behind a mistake that begins at its margin, and not by closing something.
std::uint32_t next_beginning(const SourceFile& file, std::uint32_t after) {
  const auto end = static_cast<std::uint32_t>(file.text().size());
  for (std::uint32_t line = file.locate(after).line + 1; line <= file.line_count(); ++line) {
    const std::string_view text = file.line(line);
    if (!text.empty() && std::string_view(" \t\r#})]").find(text[0]) == std::string_view::npos)
      return file.line_start(line);
  }
  return end;
}

// Reads what can be read; the mistakes that were passed over.
std::vector<Diagnostic> read_all_statements(Ast& ast, std::vector<Stmt*>& statements) {
  const SourceFile& file = ast.file();
  const auto end = static_cast<std::uint32_t>(file.text().size());
  std::vector<Diagnostic> found;
  bool is_checked = false;
  for (std::uint32_t begin = text_begin(file);;) {
    try {
      if (!std::exchange(is_checked, true)) check_text(file);
      read_statements(ast, begin, statements);
      return found;
    } catch (const UserError& error) {
      found.push_back(error.diagnostic());
      begin = std::max(next_beginning(file, error.diagnostic().place().begin), begin + 1);
      if (begin >= end) return found;
    }
  }
}

}  // namespace

std::vector<Diagnostic> syntax_mistakes(const SourceFile& file) {
  Ast ast(file);
  std::vector<Stmt*> statements;
  return read_all_statements(ast, statements);
}

TolerantAst parse_tolerantly(const SourceFile& file) {
  TolerantAst made{std::make_unique<Ast>(file), {}};
  std::vector<Stmt*> statements;
  made.mistakes = read_all_statements(*made.ast, statements);
  made.ast->main = main_of(*made.ast, text_begin(file), statements);
  std::vector<Diagnostic> misused = resolve_tolerantly(*made.ast);
  // What is missing may have defined the variable of a `nonlocal`.
  if (made.mistakes.empty()) made.mistakes = std::move(misused);
  return made;
}

Completeness completeness(std::string_view text) {
  const SourceFile file("", std::string(text));
  try {
    parse(file);
    return Completeness::Complete;
  } catch (const IncompleteError&) {
    return Completeness::Incomplete;
  } catch (const UserError&) {
    return Completeness::Invalid;
  }
}

}  // namespace kiln::lang

#include "repl/definition.h"

#include "interpreter/values/code.h"
#include "repl/command.h"

namespace kiln::repl {

using interp::Tag;
using interp::Value;

const lang::FunctionExpr* syntax_of(const Value& value) {
  return value.is(Tag::Function) ? value.as<interp::Function>().code->function : nullptr;
}

namespace {

// Runs of white space as one blank: a signature over several lines reads as one.
std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : trim(text)) {
    const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!blank)
      line += c;
    else if (!line.ends_with(' '))
      line += ' ';
  }
  return line;
}

std::string_view head(const lang::FunctionExpr& function) {
  const std::string_view text = function.span.file->text();
  const std::uint32_t end =
      function.body != nullptr ? function.body->span.begin : function.expression->span.begin;
  std::string_view found = trim(text.substr(function.span.begin, end - function.span.begin));
  for (const std::string_view mark : {"{", "=>", "="}) {
    if (found.ends_with(mark)) return trim(found.substr(0, found.size() - mark.size()));
  }
  return found;
}

bool belongs_above(std::string_view line) {
  line = trim(line);
  return line.starts_with("##") || line.starts_with('@');
}

// The whole lines from the documentation and decorators above a definition to its end, without the
// indentation.
Definition definition_at(const lang::Span& span) {
  const lang::SourceFile& file = *span.file;
  std::uint32_t first = file.locate(span.begin).line;
  while (first > 1 && belongs_above(file.line(first - 1))) --first;
  const std::uint32_t last = file.locate(span.end == span.begin ? span.end : span.end - 1).line;
  const std::string_view top = file.line(first);
  const std::size_t indentation = std::min(top.find_first_not_of(" \t"), top.size());
  std::string text;
  for (std::uint32_t number = first; number <= last; ++number) {
    std::string_view line = file.line(number);
    line.remove_prefix(
        std::min({indentation, line.size(), std::min(line.find_first_not_of(" \t"), line.size())}));
    if (number > first) text += '\n';
    text += line;
  }
  return {std::move(text), file.name(), first};
}

}  // namespace

std::string signature_of(const Value& function) {
  const lang::FunctionExpr* syntax = syntax_of(function);
  return syntax == nullptr ? std::string() : on_one_line(head(*syntax));
}

std::vector<std::string> parameter_names(const Value& function) {
  std::vector<std::string> names;
  if (const lang::FunctionExpr* syntax = syntax_of(function)) {
    for (const lang::Parameter& parameter : syntax->parameters) {
      if (parameter.kind == lang::Parameter::Kind::Normal) names.emplace_back(parameter.name);
    }
  }
  return names;
}

std::string constructor_signature(const std::string& name, const Value& init) {
  const std::string signature = signature_of(init);
  const std::size_t open = signature.find('(');
  if (open == std::string::npos) return name + "(…)";
  std::string parameters = signature.substr(open + 1);
  if (parameters.starts_with("self")) parameters.erase(0, 4);
  if (parameters.starts_with(", ")) parameters.erase(0, 2);
  return name + "(" + parameters;
}

Page function_page(const std::string& name, const lang::FunctionExpr& syntax) {
  Page page{name, "function", {on_one_line(head(syntax))}, std::string(syntax.documentation), {}};
  const lang::SourceFile& file = *syntax.span.file;
  page.notes.push_back("from " + file.name() + ":" + std::to_string(file.locate(syntax.span.begin).line));
  return page;
}

Page function_page(const std::string& name, const Value& function) {
  const lang::FunctionExpr* syntax = syntax_of(function);
  return syntax == nullptr ? Page{name, "function", {""}, {}, {}} : function_page(name, *syntax);
}

std::optional<Definition> definition_of(const Value& value) {
  if (const lang::FunctionExpr* syntax = syntax_of(value)) return definition_at(syntax->span);
  if (value.is(Tag::Method)) return definition_of(value.as<interp::Method>().function);
  if (value.is(Tag::StructType) && value.as<interp::StructType>().span) {
    return definition_at(value.as<interp::StructType>().span);
  }
  if (value.is(Tag::Instance)) return definition_of(value.as<interp::Instance>().type);
  if (value.is(Tag::Module) && !value.as<interp::Module>().sources.empty()) {
    const lang::SourceFile& file = value.as<interp::Module>().sources.back()->file();
    return Definition{std::string(trim(file.text())), file.name(), 1};
  }
  return std::nullopt;
}

}  // namespace kiln::repl

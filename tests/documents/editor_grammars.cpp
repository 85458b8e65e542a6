// Colours of programs in editors that know no language server: grammars for TextMate and Vim, of the tables
// of the front end and of ops.
#include <nlohmann/json.hpp>

#include "lang/ast.h"
#include "lang/parse.h"
#include "tensor/dtype.h"
#include "tests/documents/documents.h"

namespace kiln::testing {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

std::string joined(const Words& words, const char* between) {
  std::string text;
  for (const std::string& each : words) text += (text.empty() ? "" : between) + each;
  return text;
}

// Keywords that are a value by themselves.
bool is_constant(std::string_view word) {
  const lang::SourceFile file("<keyword>", std::string(word));
  try {
    const auto ast = lang::parse(file);
    const auto statements = ast->main->body->statements;
    if (statements.size() != 1 || statements[0]->kind != lang::StmtKind::Expr) return false;
    return lang::as<lang::ExprStmt>(*statements[0]).value->kind != lang::ExprKind::Name;
  } catch (const lang::UserError&) {
    return false;
  }
}

Words keywords(bool constants) {
  Words words;
  for (const std::string_view each : lang::keywords()) {
    if (is_constant(each) == constants) words.emplace_back(each);
  }
  return words;
}

Words dtype_names() {
  Words words;
  for (int each = 0; each < kDTypeCount; ++each) words.emplace_back(name(static_cast<DType>(each)));
  return words;
}

std::string word_pattern(const Words& words) { return "\\b(" + joined(words, "|") + ")\\b"; }

Json match(const std::string& scope, const std::string& pattern) {
  return {{"name", scope}, {"match", pattern}};
}

Json string_rule(const std::string& quote, bool is_formatted) {
  const std::string begin = (is_formatted ? "\\bf" : "") + quote;
  Json inside = Json::array({match("constant.character.escape.kiln", "\\\\.")});
  if (is_formatted) {
    inside.push_back(match("constant.character.escape.kiln", "\\{\\{|\\}\\}"));
    inside.push_back({{"name", "meta.interpolation.kiln"},
                      {"begin", "\\{"},
                      {"end", "\\}"},
                      {"patterns", Json::array({{{"include", "#code"}}})}});
  }
  return {{"name", is_formatted ? "string.interpolated.kiln" : "string.quoted.kiln"},
          {"begin", begin},
          {"end", quote + "|$"},
          {"patterns", inside}};
}

constexpr const char* kNumber =
    "\\b(0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|[0-9][0-9_]*(\\.[0-9][0-9_]*)?([eE][+-]?[0-9]+)?[jJ]?)"
    "\\b";

Json code_rules() {
  return Json::array(
      {string_rule("\"", true),
       string_rule("'", true),
       string_rule("\"", false),
       string_rule("'", false),
       match("comment.line.documentation.kiln", "##.*$"),
       match("comment.line.number-sign.kiln", "#.*$"),
       match("entity.name.function.decorator.kiln", "@[A-Za-z_][A-Za-z0-9_.]*"),
       {{"match", "\\b(fn|struct|autograd)\\s+([A-Za-z_][A-Za-z0-9_]*)"},
        {"captures",
         {{"1", {{"name", "keyword.control.kiln"}}}, {"2", {{"name", "entity.name.function.kiln"}}}}}},
       match("constant.language.kiln", word_pattern(keywords(true))),
       match("keyword.control.kiln", word_pattern(keywords(false))),
       match("constant.numeric.kiln", kNumber),
       match("storage.type.kiln", word_pattern(dtype_names())),
       match("support.function.kiln", "\\b[A-Za-z_][A-Za-z0-9_]*(?=\\()"),
       match("keyword.operator.kiln", "=>|->|\\*\\*|//|[-+*/%@<>=!&|^~]=?")});
}

}  // namespace

std::string textmate_grammar() {
  const Json grammar = {{"name", "Kiln"},
                        {"scopeName", "source.kiln"},
                        {"fileTypes", {"kiln"}},
                        {"patterns", Json::array({{{"include", "#code"}}})},
                        {"repository", {{"code", {{"patterns", code_rules()}}}}}};
  return grammar.dump(2) + "\n";
}

std::string vim_syntax() {
  std::string text =
      "\" Colours of Kiln, made by scripts/docs of the tables of the language.\n"
      "if exists('b:current_syntax')\n  finish\nendif\n\n";
  text += "syntax keyword kilnKeyword " + joined(keywords(false), " ") + "\n";
  text += "syntax keyword kilnConstant " + joined(keywords(true), " ") + "\n";
  text += "syntax keyword kilnType " + joined(dtype_names(), " ") + "\n";
  text +=
      "syntax match kilnNumber "
      "'\\v<(0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|\\d[0-9_]*(\\.\\d[0-9_]*)?([eE][+-]?\\d+)?[jJ]?)>'\n"
      "syntax match kilnFunction '\\h\\w*\\ze('\n"
      "syntax match kilnDecorator '@\\h[A-Za-z0-9_.]*'\n"
      "syntax match kilnDefinition '\\v(<(fn|struct|autograd)\\s+)@<=\\h\\w*'\n"
      "syntax match kilnEscape '\\\\.' contained\n"
      "syntax region kilnString start=+\"+ end=+\"+ oneline contains=kilnEscape\n"
      "syntax region kilnString start=+'+ end=+'+ oneline contains=kilnEscape\n"
      "syntax match kilnComment '#.*$'\n"
      "syntax match kilnDocumentation '##.*$'\n\n";
  const std::pair<const char*, const char*> links[] = {{"Keyword", "Keyword"},
                                                       {"Constant", "Constant"},
                                                       {"Type", "Type"},
                                                       {"Function", "Function"},
                                                       {"Number", "Number"},
                                                       {"Decorator", "PreProc"},
                                                       {"Definition", "Function"},
                                                       {"Escape", "SpecialChar"},
                                                       {"String", "String"},
                                                       {"Comment", "Comment"},
                                                       {"Documentation", "SpecialComment"}};
  for (const auto& [own, theirs] : links)
    text += "highlight default link kiln" + std::string(own) + " " + theirs + "\n";
  return text + "\nlet b:current_syntax = 'kiln'\n";
}

}  // namespace kiln::testing

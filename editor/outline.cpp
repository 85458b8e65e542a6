#include "editor/outline.h"

#include <algorithm>
#include <set>

#include "lang/names.h"
#include "lang/scope.h"
#include "lang/syntax.h"
#include "repl/definition.h"

namespace kiln::editor {
namespace {

using lang::as;
using lang::StmtKind;

// Where the name of a definition stands in its text.
lang::Span name_in(const lang::Span& whole, std::string_view name) {
  for (const lang::Token& token : lang::lex(whole.text())) {
    const lang::Span span{whole.file, whole.begin + token.begin, whole.begin + token.end};
    if (token.kind == lang::Tok::Name && lang::normalized_name(span.text()) == name) return span;
  }
  return {whole.file, whole.begin, whole.begin};
}

class Outline {
 public:
  std::vector<OutlineItem> of_block(const lang::Block& block) {
    std::vector<OutlineItem> items;
    for (const lang::Stmt* each : block.statements) add(items, *each);
    return items;
  }

 private:
  void add(std::vector<OutlineItem>& items, const lang::Stmt& s) {
    switch (s.kind) {
      case StmtKind::Function:
        return items.push_back(function(as<lang::FunctionStmt>(s), OutlineKind::Function));
      case StmtKind::Struct: {
        const auto& made = as<lang::StructStmt>(s);
        std::vector<OutlineItem> fields;
        for (const lang::StructField& each : made.fields)
          fields.push_back({std::string(each.name), "", OutlineKind::Field, each.span, each.span, {}});
        return items.push_back(structure(s, made.name, std::move(fields), made.methods));
      }
      case StmtKind::Autograd:
        return items.push_back(
            structure(s, as<lang::AutogradStmt>(s).name, {}, as<lang::AutogradStmt>(s).methods));
      case StmtKind::Assign:
        return variables(items, as<lang::AssignStmt>(s));
      default:
        return;
    }
  }

  // Each variable where it is first assigned.
  void variables(std::vector<OutlineItem>& items, const lang::AssignStmt& s) {
    std::vector<lang::AssignedName> names;
    for (const lang::Expr* target : s.targets) lang::collect_target_names(*target, names);
    for (const lang::AssignedName& each : names) {
      if (seen_.emplace(each.name).second)
        items.push_back({std::string(each.name), "", OutlineKind::Variable, s.span, each.span, {}});
    }
  }

  static OutlineItem function(const lang::FunctionStmt& s, OutlineKind kind) {
    const lang::FunctionExpr& f = *s.function;
    OutlineItem item{std::string(f.name),
                     repl::function_page("", f).signatures.front(),
                     kind,
                     s.span,
                     name_in(f.span, f.name),
                     {}};
    if (f.body == nullptr) return item;
    for (const lang::Stmt* each : f.body->statements) {
      if (each->kind == StmtKind::Function)
        item.children.push_back(function(as<lang::FunctionStmt>(*each), OutlineKind::Function));
    }
    return item;
  }

  static OutlineItem structure(const lang::Stmt& s, std::string_view name, std::vector<OutlineItem> fields,
                               std::span<lang::FunctionStmt* const> methods) {
    OutlineItem item{std::string(name), "", OutlineKind::Class, s.span, name_in(s.span, name),
                     std::move(fields)};
    for (const lang::FunctionStmt* each : methods)
      item.children.push_back(function(*each, OutlineKind::Method));
    return item;
  }

  std::set<std::string> seen_;
};

}  // namespace

std::vector<OutlineItem> outline(const Analysis& analysis) {
  return Outline().of_block(*analysis.main().body);
}

Json outline_json(const std::vector<OutlineItem>& items, const Text& text, Encoding encoding) {
  Json all = Json::array();
  for (const OutlineItem& each : items) {
    Json item = {{"name", each.name},
                 {"kind", static_cast<int>(each.kind)},
                 {"range", range_json(text, each.whole, encoding)},
                 {"selectionRange", range_json(text, each.name_span, encoding)}};
    if (!each.detail.empty()) item["detail"] = each.detail;
    if (!each.children.empty()) item["children"] = outline_json(each.children, text, encoding);
    all.push_back(std::move(item));
  }
  return all;
}

}  // namespace kiln::editor

#include "editor/symbol_collector.h"

#include <algorithm>

#include "lang/names.h"
#include "lang/scope.h"
#include "lang/syntax.h"

namespace kiln::editor {

using lang::as;
using lang::ExprKind;
using lang::StmtKind;
using lang::Tok;

SymbolCollector::SymbolCollector(lang::Ast& ast) : file_(ast.file()), tokens_(lang::lex(ast.file().text())) {
  around_.push_back(ast.main);
  body(*ast.main);
  name_arguments();
}

std::vector<Symbol> SymbolCollector::take_symbols() {
  for (Symbol& symbol : symbols_) {
    std::sort(symbol.occurrences.begin(), symbol.occurrences.end(),
              [](const Occurrence& a, const Occurrence& b) { return a.begin < b.begin; });
  }
  return std::move(symbols_);
}

void SymbolCollector::visit(lang::Expr& e) {
  switch (e.kind) {
    case ExprKind::Name:
      add(as<lang::NameExpr>(e).binding, as<lang::NameExpr>(e).name, e.span, targets_.contains(e.span.begin));
      return;
    case ExprKind::Function:
      return function(as<lang::FunctionExpr>(e));
    case ExprKind::Attribute:
      members.push_back(&as<lang::AttributeExpr>(e));
      return children(e);
    case ExprKind::Call:
      return call(as<lang::CallExpr>(e));
    case ExprKind::Comprehension:
      for (const auto& clause : as<lang::ComprehensionExpr>(e).clauses) targets(*clause.target);
      return children(e);
    default:
      return children(e);
  }
}

void SymbolCollector::visit(lang::Stmt& s) {
  switch (s.kind) {
    case StmtKind::Assign:
      for (const lang::Expr* target : as<lang::AssignStmt>(s).targets) targets(*target);
      return children(s);
    case StmtKind::For:
      targets(*as<lang::ForStmt>(s).target);
      return children(s);
    case StmtKind::With:
      for (const lang::WithItem& item : as<lang::WithStmt>(s).items) {
        if (item.target != nullptr) targets(*item.target);
      }
      return children(s);
    case StmtKind::Yield:
      if (as<lang::YieldStmt>(s).target != nullptr) targets(*as<lang::YieldStmt>(s).target);
      return children(s);
    case StmtKind::Function:
      define(as<lang::FunctionStmt>(s).binding, as<lang::FunctionStmt>(s).function->name,
             name_behind(as<lang::FunctionStmt>(s).function->span.begin, Tok::Fn,
                         as<lang::FunctionStmt>(s).function->name),
             SymbolKind::Function, &s, as<lang::FunctionStmt>(s).function);
      return function_statement(as<lang::FunctionStmt>(s));
    case StmtKind::Struct:
      define(as<lang::StructStmt>(s).binding, as<lang::StructStmt>(s).name,
             name_behind(s.span.begin, Tok::Struct, as<lang::StructStmt>(s).name), SymbolKind::Struct, &s);
      return structure(s, as<lang::StructStmt>(s).methods);
    case StmtKind::Autograd:
      define(as<lang::AutogradStmt>(s).binding, as<lang::AutogradStmt>(s).name,
             name_behind(s.span.begin, Tok::Autograd, as<lang::AutogradStmt>(s).name), SymbolKind::Struct,
             &s);
      return structure(s, as<lang::AutogradStmt>(s).methods);
    case StmtKind::Try: {
      const auto& made = as<lang::TryStmt>(s);
      if (!made.name.empty())
        define(made.binding, made.name, name_behind(made.body->span.end, Tok::Catch, made.name),
               SymbolKind::Variable);
      return children(s);
    }
    case StmtKind::Match:
      for (lang::MatchCase& each : as<lang::MatchStmt>(s).cases) pattern(*each.pattern);
      return children(s);
    case StmtKind::Import:
      return import(as<lang::ImportStmt>(s));
    case StmtKind::Nonlocal:
      return nonlocal(as<lang::NonlocalStmt>(s));
    default:
      return children(s);
  }
}

void SymbolCollector::targets(const lang::Expr& target) {
  std::vector<lang::AssignedName> names;
  lang::collect_target_names(target, names);
  for (const lang::AssignedName& each : names) targets_.insert(each.span.begin);
}

void SymbolCollector::function_statement(lang::FunctionStmt& s) {
  for (lang::Expr* decorator : s.decorators) visit(*decorator);
  function(*s.function);
}

void SymbolCollector::function(lang::FunctionExpr& f) {
  functions.push_back(&f);
  signature(f);
  around_.push_back(&f);
  for (const lang::Parameter& each : f.parameters)
    define(each.binding, each.name, each.span, SymbolKind::Parameter);
  for (const lang::Parameter& each : f.parameters) dimensions(each.annotation);
  dimensions(f.returns);
  body(f);
  around_.pop_back();
}

// Names of sizes are declared where they stand first; a dimension may name a parameter, too.
void SymbolCollector::dimensions(lang::Annotation* annotation) {
  if (annotation == nullptr) return;
  for (lang::DimAnnotation& dim : annotation->dims) {
    if (dim.expr == nullptr) continue;
    const bool is_name = dim.expr->kind == ExprKind::Name;
    const Symbol* const known =
        is_name ? find(as<lang::NameExpr>(*dim.expr).binding, as<lang::NameExpr>(*dim.expr).name) : nullptr;
    if (known != nullptr && !known->is_defined()) {
      define(as<lang::NameExpr>(*dim.expr).binding, known->name, dim.expr->span, SymbolKind::Size);
    } else {
      visit(*dim.expr);
    }
  }
}

// Methods are reached through instances: they are names of no scope.
void SymbolCollector::structure(lang::Stmt& s, std::span<lang::FunctionStmt*> methods) {
  if (s.kind == StmtKind::Struct) {
    for (lang::Expr* decorator : as<lang::StructStmt>(s).decorators) visit(*decorator);
    for (lang::StructField& field : as<lang::StructStmt>(s).fields) {
      if (field.annotation != nullptr) visit(*field.annotation->type);
      maybe(field.default_value);
    }
  }
  for (lang::FunctionStmt* method : methods) function_statement(*method);
}

void SymbolCollector::import(lang::ImportStmt& s) {
  if (s.names.empty()) return define(s.binding, s.as, last_name(s.span, s.as), SymbolKind::Module, &s);
  for (const lang::ImportedName& each : s.names) {
    const lang::Span rest{each.span.file, each.span.begin, s.span.end};
    const lang::Span place = each.as == each.name ? each.span : name_behind(rest.begin, Tok::As, each.as);
    define(each.binding, each.as, place, SymbolKind::Variable, &s);
  }
}

// A variable of a function around this one that it uses is among its captures; others are of the module.
void SymbolCollector::nonlocal(const lang::NonlocalStmt& s) {
  for (const std::string_view name : s.names) {
    lang::Binding binding{lang::Place::Global, 0};
    const auto& captures = around_.back()->captures;
    for (std::size_t i = 0; i < captures.size(); ++i) {
      if (captures[i].name == name) binding = {lang::Place::Capture, static_cast<std::uint32_t>(i)};
    }
    add(binding, name, last_name(s.span, name), false);
  }
}

void SymbolCollector::pattern(lang::Pattern& p) {
  if (!p.name.empty()) define(p.binding, p.name, last_name(p.span, p.name), SymbolKind::Variable);
  for (lang::Pattern* part : p.parts) pattern(*part);
}

void SymbolCollector::call(lang::CallExpr& e) {
  children(e);
  if (std::ranges::any_of(
          e.arguments, [](const lang::Argument& each) { return each.kind == lang::Argument::Kind::Named; }))
    named_calls.push_back(&e);
  if (e.callee->kind != ExprKind::Name) return;
  const auto& callee = as<lang::NameExpr>(*e.callee);
  const Symbol* const symbol = find(callee.binding, callee.name);
  if (symbol == nullptr) return;
  for (const lang::Argument& each : e.arguments) {
    if (each.kind == lang::Argument::Kind::Named)
      named_.push_back({static_cast<std::size_t>(symbol - symbols_.data()), &each});
  }
}

// `f(width=3)` names the parameter of a function that is defined once.
void SymbolCollector::name_arguments() {
  for (const NamedArgument& each : named_) {
    const Symbol& callee = symbols_[each.callee];
    const auto definitions = std::count_if(callee.occurrences.begin(), callee.occurrences.end(),
                                           [](const Occurrence& o) { return o.is_definition; });
    if (callee.function == nullptr || definitions != 1) continue;
    for (const lang::Parameter& parameter : callee.function->parameters) {
      const Key key{{callee.function, parameter.binding.slot}, {}};
      const auto found = known_.find(key);
      if (parameter.name != each.argument->name || found == known_.end()) continue;
      const lang::Span place = each.argument->name_span;
      symbols_[found->second].occurrences.push_back({place.begin, place.end, false});
    }
  }
}

Symbol* SymbolCollector::find(const lang::Binding& binding, std::string_view name) {
  Key key{{nullptr, 0}, {}};
  std::size_t level = around_.size() - 1;
  std::uint32_t slot = binding.slot;
  switch (binding.place) {
    case lang::Place::Unresolved:
      return nullptr;
    case lang::Place::Global:
      key.second = name;
      break;
    case lang::Place::Local:
    case lang::Place::Cell:
      key.first = {around_[level], slot};
      break;
    case lang::Place::Capture:
      for (;; --level) {
        if (level == 0 || slot >= around_[level]->captures.size()) return nullptr;
        const lang::CaptureSource& source = around_[level]->captures[slot];
        slot = source.slot;
        if (source.from_parent_cell) break;
      }
      key.first = {around_[level - 1], slot};
      break;
  }
  const auto [at, is_new] = known_.try_emplace(std::move(key), symbols_.size());
  if (is_new) {
    symbols_.emplace_back();
    symbols_.back().name = name;
    symbols_.back().owner = at->first.first.first;
  }
  return &symbols_[at->second];
}

Symbol* SymbolCollector::add(const lang::Binding& binding, std::string_view name, lang::Span place,
                             bool is_definition) {
  Symbol* const symbol = place ? find(binding, name) : nullptr;
  if (symbol != nullptr) symbol->occurrences.push_back({place.begin, place.end, is_definition});
  return symbol;
}

void SymbolCollector::define(const lang::Binding& binding, std::string_view name, lang::Span place,
                             SymbolKind kind, const lang::Stmt* definition,
                             const lang::FunctionExpr* function) {
  Symbol* const symbol = add(binding, name, place, true);
  if (symbol == nullptr) return;
  if (kind != SymbolKind::Variable) symbol->kind = kind;
  if (definition != nullptr) symbol->definition = definition;
  if (function != nullptr) symbol->function = function;
}

lang::Span SymbolCollector::name_behind(std::uint32_t from, Tok keyword, std::string_view name) const {
  auto token = std::lower_bound(tokens_.begin(), tokens_.end(), from,
                                [](const lang::Token& each, std::uint32_t at) { return each.begin < at; });
  token = std::find_if(token, tokens_.end(), [&](const lang::Token& each) { return each.kind == keyword; });
  for (; token != tokens_.end(); ++token) {
    const lang::Span place{&file_, token->begin, token->end};
    if (lang::normalized_name(place.text()) == name) return place;
  }
  return {};
}

lang::Span SymbolCollector::last_name(lang::Span where, std::string_view name) const {
  auto token = std::lower_bound(tokens_.begin(), tokens_.end(), where.begin,
                                [](const lang::Token& each, std::uint32_t at) { return each.begin < at; });
  lang::Span found;
  for (; token != tokens_.end() && token->begin < where.end; ++token) {
    const lang::Span place{&file_, token->begin, token->end};
    if (lang::normalized_name(place.text()) == name) found = place;
  }
  return found;
}

}  // namespace kiln::editor

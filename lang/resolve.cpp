#include <map>
#include <set>

#include "lang/complaint.h"
#include "lang/parse.h"
#include "lang/scope.h"
#include "lang/walk.h"

namespace kiln::lang {
namespace {

[[noreturn]] void declared_twice(const std::string& what, Span again, Span first) {
  throw UserError({"SyntaxError", what, {{again, ""}, {first, "first here"}}, "", {}});
}

class Resolver final : public Walker {
 public:
  using Walker::visit;
  Resolver(Ast& ast, const std::function<bool(std::string_view)>& is_defined)
      : ast_(ast), is_defined_(is_defined) {}

  // `mistakes`: where to put what is wrong with statements of the top level, which are then left as they are;
  // null: it is thrown.
  void run(std::vector<Diagnostic>* mistakes) {
    Scope module(*ast_.main, nullptr);
    scope_ = &module;
    for (const AssignedName& name : assigned_names(*ast_.main->body)) module.declare(name.name);
    guarded(mistakes, [&] {
      for (const AssignedName& name : nonlocal_names(*ast_.main->body)) {
        syntax_error(name.span, "`nonlocal` outside a function",
                     "variables of the module are assigned directly here");
      }
    });
    for (Stmt* statement : ast_.main->body->statements) {
      guarded(mistakes, [&] { visit(*statement); });
      scope_ = &module;
      loops_ = 0;
      function_ = nullptr;
      returns_ = {};
    }
    module.finish(ast_);
  }

  void visit(Expr& e) override {
    switch (e.kind) {
      case ExprKind::Name:
        return scope_->bind(as<NameExpr>(e).name, as<NameExpr>(e).binding);
      case ExprKind::Function:
        return function(as<FunctionExpr>(e));
      case ExprKind::Comprehension:
        return comprehension(as<ComprehensionExpr>(e));
      default:
        return children(e);
    }
  }

  void visit(Stmt& s) override {
    switch (s.kind) {
      case StmtKind::Return:
        if (scope_->is_module()) syntax_error(s.span, "`return` outside a function");
        if (as<ReturnStmt>(s).value && !returns_) returns_ = s.span;
        return children(s);
      case StmtKind::Break:
      case StmtKind::Continue:
        if (loops_ == 0) syntax_error(s.span, "`" + std::string(s.span.text()) + "` outside a loop");
        return;
      case StmtKind::While:
        visit(*as<WhileStmt>(s).condition);
        return loop(as<WhileStmt>(s).body);
      case StmtKind::For:
        visit(*as<ForStmt>(s).iterable);
        visit(*as<ForStmt>(s).target);
        return loop(as<ForStmt>(s).body);
      case StmtKind::Function:
        scope_->bind(as<FunctionStmt>(s).function->name, as<FunctionStmt>(s).binding);
        return children(s);
      case StmtKind::Struct:
        scope_->bind(as<StructStmt>(s).name, as<StructStmt>(s).binding);
        return members(s, as<StructStmt>(s).fields, as<StructStmt>(s).methods);
      case StmtKind::Autograd:
        scope_->bind(as<AutogradStmt>(s).name, as<AutogradStmt>(s).binding);
        return members(s, {}, as<AutogradStmt>(s).methods);
      case StmtKind::Try:
        if (!as<TryStmt>(s).name.empty()) scope_->bind(as<TryStmt>(s).name, as<TryStmt>(s).binding);
        return children(s);
      case StmtKind::Match:
        for (MatchCase& each : as<MatchStmt>(s).cases) bind(*each.pattern);
        return children(s);
      case StmtKind::Yield:
        if (scope_->is_module()) {
          syntax_error(s.span, "`yield` outside a function",
                       "a generator is a function: `fn f() { yield 1 }`");
        }
        function_->is_generator = true;
        return children(s);
      case StmtKind::Import:
        return import(as<ImportStmt>(s));
      default:
        return children(s);
    }
  }

 private:
  template <class Work>
  static void guarded(std::vector<Diagnostic>* mistakes, const Work& work) {
    try {
      work();
    } catch (const UserError& error) {
      if (mistakes == nullptr) throw;
      mistakes->push_back(error.diagnostic());
    }
  }

  void loop(Block* b) {
    ++loops_;
    block(b);
    --loops_;
  }

  void bind(Pattern& pattern) {
    if (!pattern.name.empty()) scope_->bind(pattern.name, pattern.binding);
    for (Pattern* part : pattern.parts) bind(*part);
  }

  // A generator gives its values by `yield`, so nothing else can be its result.
  void check_generator(const FunctionExpr& f) {
    if (returns_) {
      syntax_error(returns_, "a function with `yield` returns no value",
                   "write `yield` for each value; `return` alone ends the generator");
    }
    if (f.returns)
      syntax_error(f.returns->span, "a function with `yield` gives an iterator: it has no result");
  }

  void import(ImportStmt& s) {
    if (s.names.empty()) scope_->bind(s.as, s.binding);
    for (ImportedName& name : s.names) scope_->bind(name.as, name.binding);
  }

  // Methods are not names of any scope: they are reached through the instance.
  void members(Stmt& s, std::span<StructField> fields, std::span<FunctionStmt*> methods) {
    std::map<std::string_view, Span> seen;
    const auto add = [&](const char* kind, std::string_view name, Span span) {
      const auto [first, fresh] = seen.emplace(name, span);
      if (!fresh)
        declared_twice(std::string(kind) + " `" + std::string(name) + "` is declared twice", span,
                       first->second);
    };
    for (const StructField& field : fields) add("the field", field.name, field.span);
    for (const FunctionStmt* method : methods)
      add("the method", method->function->name, method->function->span);
    if (s.kind == StmtKind::Struct) {
      for (Expr* decorator : as<StructStmt>(s).decorators) visit(*decorator);
    }
    for (StructField& field : fields) {
      if (field.annotation) visit(*field.annotation->type);
      maybe(field.default_value);
    }
    for (FunctionStmt* method : methods) {
      children(static_cast<Stmt&>(*method));
      const FunctionExpr& f = *method->function;
      if (f.is_generator && (f.name == "init" || s.kind == StmtKind::Autograd)) {
        syntax_error(f.span, "`" + std::string(f.name) + "` cannot be a generator",
                     "give its values from another method");
      }
    }
  }

  void function(FunctionExpr& f) {
    signature(f);
    Scope* const outer = scope_;
    Scope inner(f, outer);
    const int outer_loops = std::exchange(loops_, 0);
    FunctionExpr* const outer_function = std::exchange(function_, &f);
    const Span outer_returns = std::exchange(returns_, {});
    scope_ = &inner;
    parameters(f, inner);
    if (f.body) {
      std::set<std::string_view> elsewhere;
      for (const AssignedName& name : nonlocal_names(*f.body)) {
        nonlocal(f, name, inner);
        elsewhere.insert(name.name);
      }
      for (const AssignedName& name : assigned_names(*f.body)) {
        if (!elsewhere.contains(name.name)) inner.declare(name.name);
      }
    }
    bind_dimensions(f);
    body(f);
    inner.finish(ast_);
    if (f.is_generator) check_generator(f);
    scope_ = outer;
    loops_ = outer_loops;
    function_ = outer_function;
    returns_ = outer_returns;
  }

  void parameters(FunctionExpr& f, Scope& inner) {
    std::map<std::string_view, Span> seen;
    for (const Parameter& p : f.parameters) {
      const auto [first, fresh] = seen.emplace(p.name, p.span);
      // `_` is for what is not used, as often as needed; the last one has the name.
      if (!fresh && p.name != "_") {
        declared_twice("the parameter `" + std::string(p.name) + "` is declared twice", p.span,
                       first->second);
      }
    }
    inner.declare_parameters(f.parameters);
    std::vector<NamedSize> sizes;
    for (const Parameter& p : f.parameters) name_sizes(p.annotation, seen, sizes, inner);
    name_sizes(f.returns, seen, sizes, inner);
    f.named_sizes = ast_.copy(std::span<const NamedSize>(sizes));
    for (NamedSize& size : f.named_sizes) inner.bind(size.name, size.binding);
  }

  // Names in dimensions that are not parameters become locals of their own.
  void name_sizes(Annotation* annotation, std::map<std::string_view, Span>& seen,
                  std::vector<NamedSize>& sizes, Scope& inner) {
    if (!annotation) return;
    for (DimAnnotation& dim : annotation->dims) {
      if (!dim.expr) continue;
      for (const NameExpr* name : names_in(*dim.expr)) {
        if (!seen.emplace(name->name, name->span).second) continue;
        inner.declare(name->name);
        sizes.push_back({name->name, {}});
      }
    }
  }

  void bind_dimensions(FunctionExpr& f) {
    const auto bind = [&](Annotation* annotation) {
      if (!annotation) return;
      for (DimAnnotation& dim : annotation->dims) maybe(dim.expr);
    };
    for (Parameter& p : f.parameters) bind(p.annotation);
    bind(f.returns);
  }

  static std::vector<const NameExpr*> names_in(Expr& e) {
    class Names final : public Walker {
     public:
      using Walker::visit;
      std::vector<const NameExpr*> found;
      void visit(Expr& each) override {
        if (each.kind == ExprKind::Name) found.push_back(&as<NameExpr>(each));
        const bool arithmetic = each.kind == ExprKind::Name || each.kind == ExprKind::Int ||
                                each.kind == ExprKind::Binary || each.kind == ExprKind::Unary;
        if (!arithmetic)
          syntax_error(each.span, "a dimension is a number, a name, `_`, `...` or arithmetic of these");
        children(each);
      }
    } names;
    names.visit(e);
    return std::move(names.found);
  }

  void nonlocal(const FunctionExpr& f, const AssignedName& name, Scope& inner) {
    for (const Parameter& p : f.parameters) {
      if (p.name == name.name) {
        throw UserError({"SyntaxError",
                         "`" + std::string(name.name) + "` is a parameter and cannot be `nonlocal`",
                         {{name.span, ""}, {p.span, "the parameter"}},
                         "",
                         {}});
      }
    }
    if (inner.captures(name.name)) return;
    const Scope* module = &inner;
    while (!module->is_module()) module = module->parent();
    if (module->declares(name.name) || (is_defined_ && is_defined_(name.name))) return;
    syntax_error(name.span, "there is no variable `" + std::string(name.name) + "` around this function",
                 "assign `" + std::string(name.name) + "` before the function, or leave out `nonlocal`");
  }

  // Each clause's iterable is evaluated before its own names exist.
  void comprehension(ComprehensionExpr& e) {
    std::size_t count = 0;
    for (ComprehensionClause& clause : e.clauses) {
      visit(*clause.iterable);
      std::vector<AssignedName> names;
      collect_target_names(*clause.target, names);
      for (const AssignedName& name : names) scope_->push_comprehension_local(name.name);
      count += names.size();
      visit(*clause.target);
      for (Expr* condition : clause.conditions) visit(*condition);
    }
    maybe(e.key);
    visit(*e.element);
    scope_->pop_comprehension_locals(count);
  }

  Ast& ast_;
  const std::function<bool(std::string_view)>& is_defined_;
  Scope* scope_ = nullptr;
  FunctionExpr* function_ = nullptr;  // null in the module
  Span returns_;                      // the first `return` of it with a value
  int loops_ = 0;
};

}  // namespace

void resolve(Ast& ast, const std::function<bool(std::string_view)>& is_defined) {
  Resolver(ast, is_defined).run(nullptr);
}

std::vector<Diagnostic> resolve_tolerantly(Ast& ast) {
  std::vector<Diagnostic> mistakes;
  const std::function<bool(std::string_view)> nothing;
  Resolver(ast, nothing).run(&mistakes);
  return mistakes;
}

}  // namespace kiln::lang

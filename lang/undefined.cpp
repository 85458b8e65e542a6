#include <algorithm>
#include <unordered_set>

#include "lang/parse.h"
#include "lang/scope.h"
#include "lang/walk.h"

namespace kiln::lang {
namespace {

// Reads of module names that nobody defines.
class UndefinedNames final : public Walker {
 public:
  using Walker::visit;
  UndefinedNames(const std::function<bool(std::string_view)>& is_known,
                 const std::vector<std::string_view>& candidates)
      : is_known_(is_known), prelude_(candidates) {}

  std::vector<Diagnostic> run(FunctionExpr& main) {
    for (const AssignedName& name : assigned_names(*main.body)) defined_.insert(name.name);
    functions_.push_back(&main);
    body(main);
    std::stable_sort(found_.begin(), found_.end(), [](const Diagnostic& a, const Diagnostic& b) {
      return a.place().begin < b.place().begin;
    });
    return std::move(found_);
  }

  // What a `catch` answers is no mistake.
  void visit(Stmt& s) override {
    if (s.kind != StmtKind::Try || as<TryStmt>(s).handler == nullptr) return children(s);
    for (Block* each : {as<TryStmt>(s).handler, as<TryStmt>(s).cleanup}) {
      if (each == nullptr) continue;
      for (Stmt* inner : each->statements) visit(*inner);
    }
  }

  void visit(Expr& e) override {
    if (e.kind == ExprKind::Name) return name(as<NameExpr>(e));
    if (e.kind != ExprKind::Function) return children(e);
    in_signature_ = true;
    signature(as<FunctionExpr>(e));
    in_signature_ = false;
    functions_.push_back(&as<FunctionExpr>(e));
    body(as<FunctionExpr>(e));
    functions_.pop_back();
  }

 private:
  void name(const NameExpr& e) {
    if (e.binding.place != Place::Global || defined_.contains(e.name) || is_known_(e.name)) return;
    if (in_signature_ && (e.name == "number" || e.name == "any" || e.name == "function")) return;
    std::vector<std::string_view> candidates = prelude_;
    candidates.insert(candidates.end(), defined_.begin(), defined_.end());
    std::sort(candidates.begin() + static_cast<std::ptrdiff_t>(prelude_.size()), candidates.end());
    for (const FunctionExpr* f : functions_)
      candidates.insert(candidates.end(), f->locals.begin(), f->locals.end());
    found_.push_back({"NameError",
                      "`" + std::string(e.name) + "` is not defined",
                      {{e.span, ""}},
                      suggest(e.name, candidates),
                      {}});
  }

  const std::function<bool(std::string_view)>& is_known_;
  const std::vector<std::string_view>& prelude_;
  std::unordered_set<std::string_view> defined_;
  std::vector<const FunctionExpr*> functions_;
  std::vector<Diagnostic> found_;
  bool in_signature_ = false;  // where some words are types, and no values
};

}  // namespace

std::vector<Diagnostic> undefined_names(const Ast& ast, const std::function<bool(std::string_view)>& is_known,
                                        const std::vector<std::string_view>& candidates) {
  return UndefinedNames(is_known, candidates).run(*ast.main);
}

}  // namespace kiln::lang

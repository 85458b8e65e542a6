// Which words a parameter takes: read from signatures of ops and from what functions compare it with.
#include <algorithm>

#include "lang/walk.h"
#include "repl/completion/parameters.h"
#include "repl/definition.h"
#include "repl/documentation.h"
#include "tensor/op_names.h"

namespace kiln::repl {
namespace {

using interp::Tag;
using interp::Value;
using lang::as;
using lang::ExprKind;

// How often a parameter is followed from one function into another.
constexpr int kMostHandedOn = 4;

class ChoiceFinder : public lang::Walker {
 public:
  explicit ChoiceFinder(Session& session) : session_(session) {}

  void look_at(const Value& callee, std::string_view parameter) {
    const Value& called = interp::called_by(callee);
    if (called.is(Tag::Native)) {
      for (std::string& word : op_choices(called.as<interp::Native>().name, parameter)) add(word);
    } else if (called.is(Tag::Function)) {
      look_into(called, parameter, parameter);
    } else if (called.is(Tag::Method)) {
      look_at(called.as<interp::Method>().function, parameter);
    } else if (called.is(Tag::StructType)) {
      // What `init` is given is most often kept in a field of the same name.
      for (const auto& [name, method] : called.as<interp::StructType>().methods)
        look_into(method, name == "init" ? parameter : std::string_view(), parameter);
    }
  }

  std::vector<std::string> found;

 private:
  // The value of interest is a variable of the function, or the field `self.field`.
  void look_into(const Value& function, std::string_view variable, std::string_view field) {
    const lang::FunctionExpr* syntax = syntax_of(function);
    if (syntax == nullptr || depth_ == kMostHandedOn) return;
    const auto before = std::tuple(variable_, field_, module_, lists_);
    variable_ = variable;
    field_ = field;
    module_ = &function.as<interp::Function>().module.as<interp::Module>();
    ++depth_;
    block(syntax->body);
    maybe(syntax->expression);
    --depth_;
    std::tie(variable_, field_, module_, lists_) = before;
  }

  bool is_subject(const lang::Expr& e) const {
    if (e.kind == ExprKind::Name) return !variable_.empty() && as<lang::NameExpr>(e).name == variable_;
    if (e.kind != ExprKind::Attribute || as<lang::AttributeExpr>(e).name != field_) return false;
    const lang::Expr& object = *as<lang::AttributeExpr>(e).object;
    return object.kind == ExprKind::Name && as<lang::NameExpr>(object).name == "self";
  }

  void add(std::string_view word) {
    if (std::find(found.begin(), found.end(), word) == found.end()) found.emplace_back(word);
  }

  void add_texts(const lang::Expr& e) {
    const auto all = [&](std::span<lang::Expr* const> items) {
      for (const lang::Expr* item : items) add_texts(*item);
    };
    switch (e.kind) {
      case ExprKind::String:
        return add(as<lang::StringExpr>(e).value);
      case ExprKind::List:
        return all(as<lang::ListExpr>(e).items);
      case ExprKind::Tuple:
        return all(as<lang::TupleExpr>(e).items);
      case ExprKind::Set:
        return all(as<lang::SetExpr>(e).items);
      case ExprKind::Dict:
        for (const lang::DictEntry& entry : as<lang::DictExpr>(e).entries) {
          if (entry.key != nullptr) add_texts(*entry.key);
        }
        return;
      case ExprKind::Name:  // of a list of words that was made before
        for (const auto& [name, list] : lists_) {
          if (name == as<lang::NameExpr>(e).name) return add_texts(*list);
        }
        return;
      default:
        return;
    }
  }

  void visit(lang::Stmt& s) override {
    if (s.kind == lang::StmtKind::Assign) {
      const auto& assign = as<lang::AssignStmt>(s);
      const lang::Expr& target = *assign.targets.front();
      if (target.kind == ExprKind::Name && assign.value->kind != ExprKind::Name)
        lists_.emplace_back(as<lang::NameExpr>(target).name, assign.value);
    }
    if (s.kind == lang::StmtKind::Match && is_subject(*as<lang::MatchStmt>(s).subject)) {
      for (const lang::MatchCase& each : as<lang::MatchStmt>(s).cases) add_pattern(*each.pattern);
    }
    children(s);
  }

  void add_pattern(const lang::Pattern& pattern) {
    if (pattern.kind == lang::Pattern::Kind::Value) add_texts(*pattern.value);
    if (pattern.kind == lang::Pattern::Kind::Either) {
      for (const lang::Pattern* part : pattern.parts) add_pattern(*part);
    }
  }

  void visit(lang::Expr& e) override {
    if (e.kind == ExprKind::Compare && is_subject(*as<lang::CompareExpr>(e).first)) {
      for (const lang::CompareLink& link : as<lang::CompareExpr>(e).rest) add_texts(*link.operand);
    }
    if (e.kind == ExprKind::Call) follow(as<lang::CallExpr>(e));
    children(e);
  }

  // Into a function that is given the value.
  void follow(const lang::CallExpr& call) {
    const bool is_method = call.callee->kind == ExprKind::Attribute;
    if (!is_method && call.callee->kind != ExprKind::Name) return;
    const std::string_view name =
        is_method ? as<lang::AttributeExpr>(*call.callee).name : as<lang::NameExpr>(*call.callee).name;
    std::size_t position = is_method ? 1 : 0;
    for (const lang::Argument& argument : call.arguments) {
      const std::size_t place = position;
      if (argument.kind == lang::Argument::Kind::Positional) ++position;
      if (!is_subject(*argument.value)) continue;
      const Value* callee = called(name);
      if (callee == nullptr) continue;
      if (argument.kind == lang::Argument::Kind::Named) look_at(*callee, argument.name);
      if (argument.kind != lang::Argument::Kind::Positional) continue;
      const std::vector<CallParameter> parameters = call_parameters(*callee);
      if (place < parameters.size()) look_at(*callee, parameters[place].name);
    }
  }

  const Value* called(std::string_view name) {
    const Value* own = module_->find(name);
    return own != nullptr ? own : session_.interpreter().lookup(name);
  }

  Session& session_;
  std::string_view variable_, field_;
  const interp::Module* module_ = nullptr;
  // What variables of the function were given.
  std::vector<std::pair<std::string_view, const lang::Expr*>> lists_;
  int depth_ = 0;
};

}  // namespace

std::vector<std::string> op_choices(std::string_view op_name, std::string_view parameter) {
  std::vector<std::string> words;
  for (const Op* op : ops_named(own_name(op_name))) {
    for (const Parameter& each : op->signature.parameters) {
      if (each.name != parameter || each.kind != ArgKind::String) continue;
      for (const std::string& word : each.words) {
        if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
      }
    }
  }
  return words;
}

std::vector<std::string> choices(Session& session, const Value& callee, std::string_view parameter) {
  ChoiceFinder finder(session);
  finder.look_at(callee, parameter);
  return std::move(finder.found);
}

}  // namespace kiln::repl

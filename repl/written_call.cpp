#include "repl/written_call.h"

#include <fmt/format.h>

#include "interpreter/host/module_state.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/members.h"
#include "lang/parse.h"

namespace kiln::repl {
namespace {

using interp::Tag;
using interp::Value;

[[noreturn]] void want_call(std::string_view command, std::string message) {
  const Command* row = find_command(command);
  usage_error(*row, std::move(message));
}

// The tree of one expression; what it points into lives as long as the session.
const lang::Expr& parse_expression(Session& session, std::string_view command, std::string_view text,
                                   std::unique_ptr<lang::Ast>& ast) {
  if (trim(text).empty()) want_call(command, "give a call, as `f(x)`");
  ast = lang::parse(session.interpreter().sources().add(session.entry_name(), std::string(text)));
  const auto& statements = ast->main->body->statements;
  if (statements.size() != 1 || statements[0]->kind != lang::StmtKind::Expr) {
    want_call(command, fmt::format("`:{}` takes one expression", command));
  }
  return *lang::as<lang::ExprStmt>(*statements[0]).value;
}

// `x`, `model.layers`, `layers[0]`: nothing is computed.
bool is_path(const lang::Expr& expr) {
  switch (expr.kind) {
    case lang::ExprKind::Name:
      return true;
    case lang::ExprKind::Attribute:
      return is_path(*lang::as<lang::AttributeExpr>(expr).object);
    case lang::ExprKind::Index:
      return is_path(*lang::as<lang::IndexExpr>(expr).object);
    default:
      return false;
  }
}

// Is the call all that there is to see? Not where its receiver is computed first.
bool is_plain_call(const lang::Expr& expr) {
  if (expr.kind != lang::ExprKind::Call) return false;
  const lang::Expr& callee = *lang::as<lang::CallExpr>(expr).callee;
  return callee.kind != lang::ExprKind::Attribute || is_path(callee);
}

Value run(Session& session, const lang::Expr& expr) { return session.run(expr.span.text()).value; }

// The callee; for a uniform call `x.f(a)` the function, with its first argument put into the call.
void take_callee(Session& session, const lang::Expr& callee, WrittenCall& call) {
  if (callee.kind == lang::ExprKind::Attribute) {
    const auto& attribute = lang::as<lang::AttributeExpr>(callee);
    const Value object = run(session, *attribute.object);
    const bool own = object.is(Tag::Module) || interp::has_member(object, attribute.name);
    const Value* function = own ? nullptr : session.interpreter().lookup(attribute.name);
    if (function == nullptr) {
      call.function = session.interpreter().attribute(object, attribute.name);
    } else {
      call.function = *function;
      call.positional.push_back(object);
    }
    return;
  }
  call.function = run(session, callee);
}

void take_argument(Session& session, const lang::Argument& argument, WrittenCall& call) {
  const Value value = run(session, *argument.value);
  switch (argument.kind) {
    case lang::Argument::Kind::Positional:
      call.positional.push_back(value);
      return;
    case lang::Argument::Kind::Named:
      call.named.emplace_back(argument.name_span.text(), value);
      return;
    case lang::Argument::Kind::Star:
      for (Value& each : session.interpreter().to_vector(value)) call.positional.push_back(std::move(each));
      return;
    case lang::Argument::Kind::DoubleStar:
      break;
  }
  if (!value.is(Tag::Dict)) command_error("TypeError", "`**` takes a dict, got " + interp::describe(value));
  for (const interp::Dict::Entry& entry : value.as<interp::Dict>().entries()) {
    if (entry.live && entry.key.is(Tag::Str)) {
      call.named.emplace_back(entry.key.as<interp::Str>().text, entry.value);
    }
  }
}

}  // namespace

WrittenCall written_call(Session& session, std::string_view command, std::string_view text) {
  std::unique_ptr<lang::Ast> ast;
  const lang::Expr& expr = parse_expression(session, command, text, ast);
  WrittenCall call;
  if (is_plain_call(expr)) {
    const auto& written = lang::as<lang::CallExpr>(expr);
    take_callee(session, *written.callee, call);
    // A call of an op has no lines of its own: it is seen where it is written.
    if (!call.function.is(Tag::Native) || interp::host::functionalized(call.function) != nullptr) {
      for (const lang::Argument& each : written.arguments) take_argument(session, each, call);
      return call;
    }
    call.positional.clear();
  }
  if (is_path(expr)) {
    call.function = run(session, expr);
    if (call.function.is(Tag::Graph)) return call;
    if (interp::host::is_callable(call.function)) {
      want_call(command, fmt::format("`{}` is a function: give a call of it, as `:{} {}(x)`", trim(text),
                                     command, trim(text)));
    }
  }
  call.is_call = false;
  call.function = session.run("() => " + std::string(text)).value;
  return call;
}

bool names_function(Session& session, std::string_view command, std::string_view text) {
  std::unique_ptr<lang::Ast> ast;
  return is_path(parse_expression(session, command, text, ast));
}

Value written_function(Session& session, std::string_view command, std::string_view text) {
  std::unique_ptr<lang::Ast> ast;
  if (trim(text).empty()) want_call(command, "name a function");
  const lang::Expr& expr = parse_expression(session, command, text, ast);
  if (expr.kind == lang::ExprKind::Call) {
    const lang::Expr& callee = *lang::as<lang::CallExpr>(expr).callee;
    want_call(command, fmt::format("`:{}` looks at a function, not at a call of it: `:{} {}`", command,
                                   command, callee.span.text()));
  }
  const Value value = run(session, expr);
  if (interp::host::is_callable(value)) return value;
  command_error("TypeError", fmt::format("`{}` is {}, not a function", trim(text), interp::describe(value)));
}

namespace {

// Calls f with each token outside of brackets until it gives false.
template <class F>
void for_each_outer_token(std::string_view text, const F& f) {
  int depth = 0;
  for (const lang::ClassifiedToken& token : lang::classify(text)) {
    if (token.kind == lang::TokenClass::Bracket) {
      for (const char c : text.substr(token.begin, token.end - token.begin)) {
        depth += c == '(' || c == '[' || c == '{' ? 1 : -1;
      }
    }
    if (depth == 0 && !f(token)) return;
  }
}

}  // namespace

std::pair<std::string_view, std::string_view> two_expressions(std::string_view text) {
  text = trim(text);
  const auto complete = [](std::string_view part) {
    return lang::completeness(part) == lang::Completeness::Complete;
  };
  std::pair<std::string_view, std::string_view> parts{text, {}};
  for_each_outer_token(text, [&](const lang::ClassifiedToken& token) {
    if (token.kind != lang::TokenClass::Space) return true;
    const std::string_view first = text.substr(0, token.begin), second = text.substr(token.end);
    if (second.empty() || !complete(first) || !complete(second)) return true;
    parts = {first, second};
    return false;
  });
  return parts;
}

std::vector<std::string_view> alternatives(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for_each_outer_token(text, [&](const lang::ClassifiedToken& token) {
    if (text.substr(token.begin, token.end - token.begin) == "|") {
      parts.push_back(trim(text.substr(begin, token.begin - begin)));
      begin = token.end;
    }
    return true;
  });
  parts.push_back(trim(text.substr(begin)));
  return parts;
}

}  // namespace kiln::repl

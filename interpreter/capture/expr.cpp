#include "interpreter/capture/expr.h"

#include <fmt/format.h>

#include "interpreter/interpreter.h"
#include "interpreter/vm/operators.h"
#include "lang/diagnostic.h"
#include "tensor/error.h"

namespace kiln::interp::capture {

namespace {

// Numbers that a loop carries are computed from those of the iteration before, each of which may be read
// several times, so a whole text may double with each iteration. Deeper ones are left out.
constexpr int kDeepestText = 7;

std::string text_within(const Exprs& exprs, ExprId id, const Sources& sources, int levels) {
  const Expr& expr = exprs[id];
  const auto part = [&](ExprId each) { return text_within(exprs, each, sources, levels - 1); };
  const bool is_leaf = expr.kind == Expr::Kind::Source || expr.kind == Expr::Kind::Constant;
  if (levels == 0 && !is_leaf) return "…";
  switch (expr.kind) {
    case Expr::Kind::Source:
      return sources[expr.source].text;
    case Expr::Kind::Constant:
      return expr.constant.is(Tag::Float) ? fmt::format("{}", expr.constant.as_float())
                                          : std::to_string(expr.constant.as_int());
    case Expr::Kind::Size:
      return expr.size.text();
    case Expr::Kind::Binary:
      return fmt::format("({} {} {})", part(expr.a), lang::spelling(expr.binary), part(expr.b));
    case Expr::Kind::Compare:
      return fmt::format("{} {} {}", part(expr.a), lang::spelling(expr.compare), part(expr.b));
    case Expr::Kind::Negate:
      return "-" + part(expr.a);
    case Expr::Kind::Call: {
      if (!expr.constant.is(Tag::Type)) return "a number computed from " + part(expr.parts.at(0));
      std::string arguments;
      for (const ExprId each : expr.parts) arguments += (arguments.empty() ? "" : ", ") + part(each);
      return fmt::format("{}({})", expr.constant.as<Type>().name, arguments);
    }
  }
  return "";
}

}  // namespace

std::string Exprs::text(ExprId id, const Sources& sources) const {
  return text_within(*this, id, sources, kDeepestText);
}

const Value& Numbers::operator[](ExprId id) {
  const auto at = static_cast<std::size_t>(id);
  if (!values_[at]) {
    Value value = evaluate(exprs_[id]);
    values_[at] = std::move(value);
  }
  return *values_[at];
}

std::optional<std::int64_t> Numbers::symbol(std::size_t k) {
  const Symbol& symbol = exprs_.symbols[k];
  if (symbol.expr >= 0) {
    const Value& v = (*this)[symbol.expr];
    return v.is(Tag::Int) ? std::optional(v.as_int()) : std::nullopt;
  }
  const Value* tensor = found_[symbol.tensor];
  if (tensor == nullptr || !tensor->is(Tag::Tensor) || tensor->tensor().rank() <= symbol.dim)
    return std::nullopt;
  return tensor->tensor().size(symbol.dim);
}

bool Numbers::symbols(const SymbolValues& wanted, SymbolValues& values) {
  for (std::size_t k = 0; k < exprs_.symbols.size(); ++k) {
    if (!wanted.contains(exprs_.symbols[k].name)) continue;
    const std::optional<std::int64_t> value = symbol(k);
    if (!value) return false;
    values.emplace(exprs_.symbols[k].name, *value);
  }
  return true;
}

Value Numbers::evaluate_size(Dim size) {
  std::set<std::string> names;
  collect_symbols(size, names);
  SymbolValues values;
  for (std::size_t k = 0; k < exprs_.symbols.size(); ++k) {
    if (!names.contains(exprs_.symbols[k].name)) continue;
    const std::optional<std::int64_t> value = symbol(k);
    if (!value) return Value::unset();
    values.emplace(exprs_.symbols[k].name, *value);
  }
  return kiln::evaluate(size, values);
}

Value Numbers::call(const Expr& expr) {
  std::vector<Value> arguments;
  for (const ExprId each : expr.parts) {
    arguments.push_back((*this)[each]);
    if (arguments.back().is_unset()) return Value::unset();
  }
  try {
    return interpreter_.call(expr.constant, arguments);
  } catch (const lang::UserError&) {
    return Value::unset();
  } catch (const OpError&) {
    return Value::unset();
  }
}

Value Numbers::evaluate(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::Source: {
      const Value* v = found_[expr.source];
      return v != nullptr && (v->is(Tag::Int) || v->is(Tag::Float)) ? *v : Value::unset();
    }
    case Expr::Kind::Constant:
      return expr.constant;
    case Expr::Kind::Size:
      return evaluate_size(expr.size);
    case Expr::Kind::Call:
      return call(expr);
    default:
      break;
  }
  const Value a = (*this)[expr.a];
  const Value b = expr.b >= 0 ? (*this)[expr.b] : Value(0);
  if (a.is_unset() || b.is_unset()) return Value::unset();
  try {
    if (expr.kind == Expr::Kind::Negate) return unary_operator(interpreter_, lang::UnaryOp::Neg, a);
    if (expr.kind == Expr::Kind::Compare) return compare_operator(interpreter_, expr.compare, a, b);
    return binary_operator(interpreter_, expr.binary, a, b);
  } catch (const lang::UserError&) {  // no number: the interpreter will raise the error
    return Value::unset();
  } catch (const OpError&) {
    return Value::unset();
  }
}

}  // namespace kiln::interp::capture

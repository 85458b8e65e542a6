#include "repl/type_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "interpreter/host/abstract_call.h"
#include "interpreter/values/complex_number.h"
#include "interpreter/values/natives.h"
#include "lang/parse.h"
#include "repl/command.h"
#include "repl/definition.h"
#include "repl/index_type.h"
#include "repl/op_types.h"
#include "tensor/error.h"
#include "tensor/operators.h"

namespace kiln::repl {
namespace {

using interp::Tag;
using interp::Value;

struct TypeResult {
  std::string_view name;
  std::string_view type;
};
// What host functions and methods give, whatever their arguments.
constexpr std::array<TypeResult, 28> kHostResults{{{"len", "int"},          {"str", "str"},
                                                   {"repr", "str"},         {"int", "int"},
                                                   {"float", "float"},      {"bool", "bool"},
                                                   {"list", "list"},        {"tuple", "tuple"},
                                                   {"dict", "dict"},        {"range", "range"},
                                                   {"sorted", "list"},      {"print", "none"},
                                                   {"isinstance", "bool"},  {"time", "float"},
                                                   {"exists", "bool"},      {"listdir", "list"},
                                                   {"numel", "int"},        {"dim", "int"},
                                                   {"tolist", "list"},      {"stride", "tuple"},
                                                   {"is_view", "bool"},     {"is_contiguous", "bool"},
                                                   {"element_size", "int"}, {"equal", "bool"},
                                                   {"allclose", "bool"},    {"shares_storage", "bool"},
                                                   {"input", "str"},        {"storage_id", "int"}}};

// The name of the op that an operator is on tensors; empty when there is none.
template <class E>
std::string_view op_name(E op, int operands = 2) {
  const Op* const found = operator_on_tensors(lang::spelling(op), operands);
  return found == nullptr ? std::string_view() : found->name();
}

// What a call of a function of the program is worked out from.
enum class Calls {
  Run,        // a run on tensors without elements
  Signature,  // what its signature says alone
};

// What a host function gives, as its signature says behind "->"; "" where that depends on its arguments.
std::string_view result_of(std::string_view signature) {
  const std::size_t arrow = signature.rfind(" -> ");
  return arrow == std::string_view::npos ? std::string_view() : signature.substr(arrow + 4);
}

// The same of a method of a kind of value.
std::string_view result_of(Tag receiver, std::string_view method) {
  for (const interp::NativeDef& def : interp::methods_of(receiver)) {
    const std::string_view signature = def.signature;
    if (signature.substr(0, signature.find('(')) == method) return result_of(signature);
  }
  return {};
}

class Typer {
 public:
  Typer(Session& session, Calls calls) : session_(session), calls_(calls) {}

  KnownType type(const lang::Expr& expr) {
    using lang::ExprKind;
    switch (expr.kind) {
      case ExprKind::None:
        return KnownType::of(Value());
      case ExprKind::Bool:
        return KnownType::of(Value(lang::as<lang::BoolExpr>(expr).value));
      case ExprKind::Int:
        return KnownType::of(Value(lang::as<lang::IntExpr>(expr).value));
      case ExprKind::Float:
        return KnownType::of(Value(lang::as<lang::FloatExpr>(expr).value));
      case ExprKind::Imaginary:
        return KnownType::of(interp::complex_value(0, lang::as<lang::ImaginaryExpr>(expr).value));
      case ExprKind::String:
        return KnownType::of(Value(lang::as<lang::StringExpr>(expr).value));
      case ExprKind::FString:
        return KnownType::named("str");
      case ExprKind::Name:
        return name(lang::as<lang::NameExpr>(expr));
      case ExprKind::List:
        return items<interp::List>(lang::as<lang::ListExpr>(expr).items, "list");
      case ExprKind::Tuple:
        return items<interp::Tuple>(lang::as<lang::TupleExpr>(expr).items, "tuple");
      case ExprKind::Dict:
        return KnownType::named("dict");
      case ExprKind::Set:
        return KnownType::named("set");
      case ExprKind::Comprehension:
        return comprehension(lang::as<lang::ComprehensionExpr>(expr));
      case ExprKind::Unary:
        return unary(lang::as<lang::UnaryExpr>(expr));
      case ExprKind::Binary:
        return binary(lang::as<lang::BinaryExpr>(expr));
      case ExprKind::Compare:
        return compare(lang::as<lang::CompareExpr>(expr));
      case ExprKind::Logical:
        return same(lang::as<lang::LogicalExpr>(expr).left, lang::as<lang::LogicalExpr>(expr).right);
      case ExprKind::Conditional:
        return same(lang::as<lang::ConditionalExpr>(expr).then,
                    lang::as<lang::ConditionalExpr>(expr).otherwise);
      case ExprKind::Function:
        return KnownType::named("function");
      case ExprKind::Call:
        return call(lang::as<lang::CallExpr>(expr));
      case ExprKind::Attribute:
        return attribute(lang::as<lang::AttributeExpr>(expr));
      case ExprKind::Index:
        return index(lang::as<lang::IndexExpr>(expr));
      case ExprKind::Ellipsis:
      case ExprKind::Slice:
      case ExprKind::Starred:
        break;
    }
    throw Unknown{"this has a type only inside a call or an index"};
  }

 private:
  KnownType name(const lang::NameExpr& expr) {
    const Value* value = session_.interpreter().lookup(expr.name);
    if (value != nullptr) return KnownType::of(*value);
    const std::vector<std::string> names = session_.interpreter().names();
    const std::string_view near = lang::nearest(expr.name, {names.begin(), names.end()});
    throw lang::UserError({"NameError",
                           fmt::format("`{}` is not defined", expr.name),
                           {{expr.span, {}}},
                           near.empty() ? "" : fmt::format("did you mean `{}`?", near),
                           {}});
  }

  // The list itself when all items are known exactly; `[x, y]` of tensors too, for `cat` and `stack`.
  template <class Sequence>
  KnownType items(std::span<lang::Expr* const> exprs, const char* type_name) {
    std::vector<Value> values;
    for (const lang::Expr* expr : exprs) {
      if (expr->kind == lang::ExprKind::Starred) return KnownType::named(type_name);
      const KnownType item = type(*expr);
      if (!item.value) return KnownType::named(fmt::format("{} of {}", type_name, exprs.size()));
      values.push_back(*item.value);
    }
    return KnownType::of(interp::make<Sequence>(std::move(values)));
  }

  static KnownType comprehension(const lang::ComprehensionExpr& expr) {
    return KnownType::named(expr.key != nullptr ? "dict" : "list");
  }

  KnownType unary(const lang::UnaryExpr& expr) {
    const KnownType operand = type(*expr.operand);
    if (expr.op == lang::UnaryOp::Not) return KnownType::named("bool");
    if (expr.op == lang::UnaryOp::Pos) return operand;
    const bool negate = expr.op == lang::UnaryOp::Neg;
    if (operand.is_tensor()) return apply(op_name(expr.op, 1), {{{}, operand, expr.operand->span}});
    if (operand.value && operand.value->is(Tag::Complex) && negate) {
      const kiln::Complex<double> z = interp::complex_of(*operand.value);
      return KnownType::of(interp::complex_value(-z.real, -z.imaginary));
    }
    if (!operand.value || !operand.value->is_number()) return KnownType::named(operand.type);
    const Value zero(std::int64_t{0}), minus_one(std::int64_t{-1});
    if (operand.value->is(Tag::Float)) return KnownType::of(Value(-operand.value->as_float()));
    return exact(lang::BinaryOp::Sub, negate ? zero : minus_one, *operand.value);
  }

  KnownType exact(lang::BinaryOp op, const Value& a, const Value& b) {
    return KnownType::of(session_.interpreter().binary(op, a, b));
  }

  KnownType binary(const lang::BinaryExpr& expr) {
    const KnownType left = type(*expr.left), right = type(*expr.right);
    if (left.is_tensor() || right.is_tensor()) {
      return apply(op_name(expr.op), {{{}, left, expr.left->span}, {{}, right, expr.right->span}},
                   expr.op_span);
    }
    const bool numbers = left.value && right.value && interp::is_any_number(*left.value) &&
                         interp::is_any_number(*right.value);
    if (numbers) return exact(expr.op, *left.value, *right.value);
    if (left.type == right.type && expr.op != lang::BinaryOp::Div) return KnownType::named(left.type);
    const auto number = [](const KnownType& k) {
      return k.type == "int" || k.type == "float" || k.type == "bool";
    };
    const auto any_number = [&](const KnownType& k) { return number(k) || k.type == "complex"; };
    if (number(left) && number(right)) return KnownType::named("float");
    if (any_number(left) && any_number(right)) return KnownType::named("complex");
    throw Unknown{fmt::format("`{}` of {} and {} is found out by running it", lang::spelling(expr.op),
                              left.text(), right.text())};
  }

  KnownType compare(const lang::CompareExpr& expr) {
    const KnownType first = type(*expr.first);
    const lang::CompareLink& link = expr.rest.front();
    const KnownType second = type(*link.operand);
    const std::string_view op = op_name(link.op);
    if (op.empty() || !(first.is_tensor() || second.is_tensor())) return KnownType::named("bool");
    return apply(op, {{{}, first, expr.first->span}, {{}, second, link.operand->span}}, link.op_span);
  }

  KnownType same(const lang::Expr* a, const lang::Expr* b) {
    const KnownType left = type(*a), right = type(*b);
    if (left.text() != right.text()) {
      throw Unknown{fmt::format("it is {} or {}, by a value", left.text(), right.text())};
    }
    return left.is_tensor() ? KnownType::of(*left.tensor) : KnownType::named(left.type);
  }

  // ---- Calls ----

  std::vector<KnownArgument> arguments_of(const lang::CallExpr& expr) {
    std::vector<KnownArgument> arguments;
    for (const lang::Argument& argument : expr.arguments) {
      if (argument.kind == lang::Argument::Kind::Star || argument.kind == lang::Argument::Kind::DoubleStar) {
        throw Unknown{"`*` and `**` arguments are found out by running it"};
      }
      arguments.push_back({argument.name, type(*argument.value), argument.value->span});
    }
    return arguments;
  }

  KnownType call(const lang::CallExpr& expr) {
    if (calls_ == Calls::Signature) {
      // Which struct is made does not depend on what it is given.
      const auto callee = find_value(session_, expr.callee->span.text());
      if (callee && callee->is(Tag::StructType)) return instance_of(*callee);
    }
    if (expr.callee->kind == lang::ExprKind::Attribute) return method_call(expr);
    const KnownType callee = type(*expr.callee);
    if (!callee.value) throw Unknown{"what is called is not known"};
    return call_value(*callee.value, expr.callee->span.text(), arguments_of(expr));
  }

  KnownType method_call(const lang::CallExpr& expr) {
    const auto& access = lang::as<lang::AttributeExpr>(*expr.callee);
    const KnownType object = type(*access.object);
    std::vector<KnownArgument> arguments = arguments_of(expr);
    if (object.value && !object.is_tensor()) {
      Value found;
      if (find_attribute(*object.value, access.name, found)) {
        return call_value(found, expr.callee->span.text(), std::move(arguments));
      }
    }
    if (const auto tag = object.value ? std::nullopt : tag_of(object)) {
      if (const std::string_view result = result_of(*tag, access.name); !result.empty())
        return KnownType::named(std::string(result));
    }
    if (object.is_tensor() && access.name == "item") return item_of(object);
    arguments.insert(arguments.begin(), KnownArgument{{}, object, access.object->span});
    return call_named(access.name, std::move(arguments));
  }

  bool find_attribute(const Value& object, std::string_view name, Value& found) {
    try {
      found = session_.interpreter().attribute(object, name);
      return true;
    } catch (const lang::UserError&) {
      return false;
    }
  }

  static KnownType item_of(const KnownType& tensor) {
    static constexpr std::array<const char*, 3> kNames{"bool", "int", "float"};
    return KnownType::named(kNames[static_cast<std::size_t>(category(tensor.tensor->dtype))]);
  }

  // A function by its name, with the receiver of a method first.
  KnownType call_named(std::string_view name, std::vector<KnownArgument> arguments) {
    for (const TypeResult& result : kHostResults) {
      if (result.name == name) return KnownType::named(std::string(result.type));
    }
    if (interp::is_op(name)) return apply(name, std::move(arguments));
    const Value* value = session_.interpreter().lookup(name);
    if (value != nullptr) return call_value(*value, name, std::move(arguments));
    throw Unknown{fmt::format("what `{}` gives is found out by running it", name)};
  }

  KnownType call_value(const Value& callee, std::string_view text, std::vector<KnownArgument> arguments) {
    if (callee.is(Tag::StructType)) return instance_of(callee);
    if (callee.is(Tag::Type)) return construct(callee.as<interp::Type>().name, arguments);
    if (callee.is(Tag::Native)) {
      const std::string& name = callee.as<interp::Native>().name;
      if (name == "tensor") return construct(name, arguments);
      for (const TypeResult& result : kHostResults) {
        if (result.name == name) return KnownType::named(std::string(result.type));
      }
      if (interp::is_op(name)) return apply(name, std::move(arguments));
      throw Unknown{fmt::format("what `{}` gives depends on its arguments' values", name)};
    }
    return calls_ == Calls::Run ? call_of_program(callee, text, arguments) : declared_result(callee);
  }

  static KnownType instance_of(const Value& struct_type) {
    KnownType known = KnownType::named(struct_type.as<interp::StructType>().name);
    known.struct_type = struct_type;
    return known;
  }

  // What the signature of a function, or of what a struct does when called, says that it gives.
  KnownType declared_result(const Value& callee) {
    if (callee.is(Tag::Method)) return declared_result(callee.as<interp::Method>().function);
    if (callee.is(Tag::Native)) {
      const std::string_view result = result_of(callee.as<interp::Native>().signature);
      if (!result.empty()) return KnownType::named(std::string(result));
    }
    if (callee.is(Tag::Instance)) {
      const Value* called = callee.as<interp::Instance>().struct_type().method("call");
      if (called != nullptr) return declared_result(*called);
    }
    const lang::FunctionExpr* syntax = syntax_of(callee);
    if (syntax == nullptr || syntax->returns == nullptr)
      throw Unknown{"its signature does not say what it gives"};
    const std::string_view name = syntax->returns->type_name;
    const auto type = find_value(session_, name);
    if (type && type->is(Tag::DType)) return KnownType::named("tensor");
    if (type && type->is(Tag::StructType)) return instance_of(*type);
    return KnownType::named(std::string(name));
  }

  // Of a function of the program: it runs on tensors that have types and no elements.
  KnownType call_of_program(const Value& callee, std::string_view text,
                            std::span<const KnownArgument> arguments) {
    std::vector<Value> positional;
    std::vector<std::pair<std::string_view, Value>> named;
    for (const KnownArgument& each : arguments) {
      Value given;
      if (each.value.is_tensor()) {
        const TensorType& type = *each.value.tensor;
        given = Value(Tensor::without_elements(type.sizes, type.dtype, type.device));
      } else if (each.value.value) {
        given = *each.value.value;
      } else {
        throw Unknown{fmt::format("an argument of `{}` is only known to be {}", text, each.value.text())};
      }
      if (each.name.empty()) {
        positional.push_back(std::move(given));
      } else {
        named.emplace_back(each.name, std::move(given));
      }
    }
    try {
      return KnownType::of(
          interp::host::call_without_elements(session_.interpreter(), callee, positional, named));
    } catch (const lang::UserError& error) {
      if (error.diagnostic().kind != "CaptureError") throw;
      throw Unknown{fmt::format("`{}` asks for elements: {}", text, error.diagnostic().message)};
    }
  }

  // `tensor(data, dtype=…)` of exactly known data is as good as known.
  KnownType construct(const std::string& name, const std::vector<KnownArgument>& arguments) {
    if (name != "tensor") return KnownType::named(name);
    std::optional<DType> dtype;
    for (const KnownArgument& argument : arguments) {
      if (!argument.value.value) throw Unknown{"the data of the tensor is not known"};
      if (argument.value.value->is(Tag::DType)) dtype = argument.value.value->as_dtype();
    }
    if (arguments.empty()) throw Unknown{"`tensor` needs data"};
    return KnownType::of(
        interp::tensor_from(session_.interpreter(), *arguments.front().value.value, dtype).type());
  }

  // Errors get a caret under the operator, if there is one, and under each operand.
  KnownType apply(std::string_view op, std::vector<KnownArgument> arguments, lang::Span place = {}) {
    try {
      return op_call_type(op, arguments);
    } catch (const OpError& error) {
      lang::Diagnostic diagnostic{
          std::string(kiln::name(error.kind())), error.message(), {}, error.help(), {}};
      if (place) diagnostic.labels.push_back({place, {}});
      for (const KnownArgument& argument : arguments) {
        diagnostic.labels.push_back(
            {argument.span, std::string(argument.span.text()) + ": " + argument.value.text()});
      }
      throw lang::UserError(std::move(diagnostic));
    }
  }

  // ---- Fields and items ----

  KnownType attribute(const lang::AttributeExpr& expr) {
    const KnownType object = type(*expr.object);
    if (object.value) return KnownType::of(session_.interpreter().attribute(*object.value, expr.name));
    if (!object.is_tensor()) throw Unknown{fmt::format("`{}` of a value not known yet", expr.name)};
    const TensorType& tensor = *object.tensor;
    if (expr.name == "shape") return shape_of(tensor);
    if (expr.name == "ndim") return KnownType::of(Value(static_cast<std::int64_t>(tensor.sizes.size())));
    if (expr.name == "dtype") return KnownType::of(Value(tensor.dtype));
    if (expr.name == "device") return KnownType::of(Value(tensor.device));
    if (expr.name == "requires_grad" || expr.name == "is_leaf") return KnownType::named("bool");
    const bool is_part = expr.name == "real" || expr.name == "imag";
    if (is_part) return apply(expr.name, {{{}, object, expr.object->span}});
    throw Unknown{fmt::format("`{}` is found out by running it", expr.name)};
  }

  static KnownType shape_of(const TensorType& tensor) {
    std::vector<Value> sizes;
    for (const Dim size : tensor.sizes) sizes.emplace_back(size);
    return KnownType::of(interp::make<interp::Tuple>(std::move(sizes)));
  }

  KnownType index(const lang::IndexExpr& expr) {
    const KnownType object = type(*expr.object);
    if (object.is_tensor()) return tensor_index(*object.tensor, expr);
    if (object.type == "str") return KnownType::named("str");
    const KnownType item = expr.items.size() == 1 && expr.items[0]->kind != lang::ExprKind::Slice
                               ? type(*expr.items[0])
                               : KnownType::named("slice");
    if (object.value && item.value && item.value->is(Tag::Int))
      return element(*object.value, item.value->as_int());
    if (item.type == "slice") return KnownType::named(object.type.substr(0, object.type.find(' ')));
    throw Unknown{"an element is found out by running it"};
  }

  static KnownType element(const Value& sequence, std::int64_t at) {
    std::span<const Value> all;
    if (sequence.is(Tag::List)) all = sequence.as<interp::List>().items;
    if (sequence.is(Tag::Tuple)) all = sequence.as<interp::Tuple>().items;
    if (at < 0) at += std::ssize(all);
    if (at < 0 || at >= std::ssize(all)) throw Unknown{"there is no such element now"};
    return KnownType::of(all[static_cast<std::size_t>(at)]);
  }

  KnownType tensor_index(const TensorType& tensor, const lang::IndexExpr& expr) {
    std::vector<IndexItem> items;
    for (const lang::Expr* item : expr.items) items.push_back(index_item(*item));
    return KnownType::of(index_type(tensor, items));
  }

  IndexItem index_item(const lang::Expr& expr) {
    if (expr.kind == lang::ExprKind::Ellipsis) return {IndexItem::Kind::Rest, {}, {}};
    if (expr.kind == lang::ExprKind::Slice) {
      const auto& slice = lang::as<lang::SliceExpr>(expr);
      return {IndexItem::Kind::Slice, {bound(slice.start), bound(slice.stop), bound(slice.step)}, {}};
    }
    const KnownType item = type(expr);
    if (item.is_tensor()) return {IndexItem::Kind::Tensor, {}, *item.tensor};
    if (item.value && item.value->is_none()) return {IndexItem::Kind::NewDim, {}, {}};
    if (item.value && item.value->is(Tag::Int))
      return {IndexItem::Kind::Int, {item.value->as_int(), {}, {}}, {}};
    if (item.type == "int") return {IndexItem::Kind::Int, {}, {}};
    throw Unknown{fmt::format("what `{}` picks is found out by running it", expr.span.text())};
  }

  std::optional<std::int64_t> bound(const lang::Expr* expr) {
    if (expr == nullptr) return std::nullopt;
    const KnownType value = type(*expr);
    if (value.value && value.value->is_none()) return std::nullopt;
    if (!value.value || !value.value->is(Tag::Int)) throw Unknown{"the bounds of a slice are not known"};
    return value.value->as_int();
  }

  Session& session_;
  Calls calls_;
};

// The one expression that a text is; null when it is anything else.
const lang::Expr* only_expression(const lang::Ast& ast) {
  const auto& statements = ast.main->body->statements;
  if (statements.size() != 1 || statements[0]->kind != lang::StmtKind::Expr) return nullptr;
  return lang::as<lang::ExprStmt>(*statements[0]).value;
}

}  // namespace

std::string type_of(Session& session, std::string_view text) {
  const lang::SourceFile& file = session.interpreter().sources().add(session.entry_name(), std::string(text));
  const auto ast = lang::parse(file);
  const lang::Expr* expression = only_expression(*ast);
  if (expression == nullptr) command_error("ValueError", "`:type` takes one expression");
  try {
    return Typer(session, Calls::Run).type(*expression).text();
  } catch (const Unknown& unknown) {
    return "not known without running: " + unknown.reason;
  }
}

std::optional<Tag> tag_of(const KnownType& type) {
  static constexpr std::array<std::pair<std::string_view, Tag>, 13> kTags{{{"str", Tag::Str},
                                                                           {"list", Tag::List},
                                                                           {"tuple", Tag::Tuple},
                                                                           {"dict", Tag::Dict},
                                                                           {"set", Tag::Set},
                                                                           {"range", Tag::Range},
                                                                           {"int", Tag::Int},
                                                                           {"float", Tag::Float},
                                                                           {"bool", Tag::Bool},
                                                                           {"complex", Tag::Complex},
                                                                           {"tensor", Tag::Tensor},
                                                                           {"function", Tag::Function},
                                                                           {"none", Tag::None}}};
  const std::string_view word = std::string_view(type.type).substr(0, type.type.find(' '));
  const auto found =
      std::find_if(kTags.begin(), kTags.end(), [&](const auto& each) { return each.first == word; });
  return found == kTags.end() ? std::nullopt : std::optional(found->second);
}

std::optional<KnownType> known_type(Session& session, std::string_view expression) {
  const lang::SourceFile file("<completion>", std::string(expression));
  try {
    const auto ast = lang::parse(file);
    const lang::Expr* parsed = only_expression(*ast);
    if (parsed == nullptr) return std::nullopt;
    return Typer(session, Calls::Signature).type(*parsed);
  } catch (const Unknown&) {
    return std::nullopt;
  } catch (const lang::UserError&) {
    return std::nullopt;
  } catch (const OpError&) {
    return std::nullopt;
  }
}

}  // namespace kiln::repl

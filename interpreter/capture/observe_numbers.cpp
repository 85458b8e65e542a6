// How instructions use varying numbers.
#include <algorithm>

#include "interpreter/capture/observe.h"
#include "interpreter/values/natives.h"
#include "interpreter/vm/context.h"
#include "interpreter/vm/members.h"
#include "interpreter/vm/op_entry.h"
#include "interpreter/vm/operators.h"
#include "interpreter/vm/registers.h"
#include "tensor/ops/pointwise.h"

namespace kiln::interp::capture {
namespace {

using lang::BinaryOp;
using lang::CompareOp;

bool is_plain_number(const Value& v) { return v.is(Tag::Int) || v.is(Tag::Float); }

std::optional<BinaryOp> arithmetic_of(Opcode op) {
  switch (op) {
    case Opcode::Add:
    case Opcode::AddInt:
    case Opcode::AugAdd:
    case Opcode::AugAddInt:
      return BinaryOp::Add;
    case Opcode::Sub:
    case Opcode::SubInt:
    case Opcode::AugSub:
    case Opcode::AugSubInt:
      return BinaryOp::Sub;
    case Opcode::Mul:
    case Opcode::MulInt:
    case Opcode::AugMul:
    case Opcode::AugMulInt:
      return BinaryOp::Mul;
    case Opcode::Div:
    case Opcode::AugDiv:
      return BinaryOp::Div;
    case Opcode::FloorDiv:
      return BinaryOp::FloorDiv;
    case Opcode::Mod:
    case Opcode::ModInt:
      return BinaryOp::Mod;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<CompareOp> comparison_of(Opcode op) {
  switch (op) {
#define KILN_COMPARISON(name)        \
  case Opcode::name:                 \
  case Opcode::JumpIf##name:         \
  case Opcode::JumpIfNot##name:      \
  case Opcode::JumpIf##name##Int:    \
  case Opcode::JumpIfNot##name##Int: \
    return CompareOp::name;
    KILN_COMPARISON(Eq)
    KILN_COMPARISON(Ne)
    KILN_COMPARISON(Lt)
    KILN_COMPARISON(Le)
    KILN_COMPARISON(Gt)
    KILN_COMPARISON(Ge)
#undef KILN_COMPARISON
    default:
      return std::nullopt;
  }
}

bool Observer::any_number() const {
  bool any = false;
  each_read(*frame_.code, frame_.place(),
            [&](std::uint32_t r) { any = any || tracer_.shadow(r_ + r) >= 0 || tracer_.has_parts(r_[r]); });
  return any;
}

// Fixes all numbers that the instruction reads. If a number changes with each iteration of a loop, an entry
// that fixes it would never hold again, so the interpreter runs the instruction.
void Observer::fix_all() {
  if (tracer_.varying_.in_loop && tracer_.nested_ == 0 && any_number())
    return tracer_.stop("a number that changes with each trip is needed as it is");
  each_read(*frame_.code, frame_.place(), [&](std::uint32_t r) { tracer_.fix_register(r_ + r); });
}

ExprId Observer::number_of(const Value* r, std::optional<std::int64_t> constant) {
  if (r == nullptr) return tracer_.add_constant(Value(*constant));
  const ExprId known = tracer_.shadow(r);
  return known >= 0 ? known : tracer_.add_constant(*r);
}

void Observer::binary(BinaryOp op, const Value* a, const Value* b, std::optional<std::int64_t> constant) {
  const Value other = b != nullptr ? *b : Value(*constant);
  if (a->is(Tag::Tensor) || other.is(Tag::Tensor)) {
    const Value* const given[] = {a, &other};
    const ExprId ids[] = {tracer_.shadow(a), b != nullptr ? tracer_.shadow(b) : -1};
    return tracer_.expect_operands(given, ids);
  }
  if (!is_plain_number(*a) || !is_plain_number(other)) return fix_all();
  // Whether a power of ints is an int depends on the exponent.
  const bool is_power = op == BinaryOp::Pow && a->is(Tag::Int) && other.is(Tag::Int);
  if (is_power && b != nullptr && tracer_.shadow(b) >= 0) return fix_all();
  const ExprId x = number_of(a);
  tracer_.set_later(r_ + i_.a, tracer_.add_binary(op, x, number_of(b, constant)));
}

void Observer::comparison(CompareOp op, const Value* a, const Value* b,
                          std::optional<std::int64_t> constant) {
  const Value other = b != nullptr ? *b : Value(*constant);
  if (!is_plain_number(*a) || !is_plain_number(other)) {
    if (!a->is(Tag::Tensor) && !other.is(Tag::Tensor)) return fix_all();
    const Value* const given[] = {a, &other};
    const ExprId ids[] = {tracer_.shadow(a), b != nullptr ? tracer_.shadow(b) : -1};
    return tracer_.expect_operands(given, ids);
  }
  Expr expr;
  expr.kind = Expr::Kind::Compare;
  expr.compare = op;
  expr.a = number_of(a);
  expr.b = number_of(b, constant);
  tracer_.fix(tracer_.add_expr(std::move(expr)), compare_operator(tracer_.vm_.interpreter(), op, *a, other));
}

// A condition on a number fixes whether it is zero.
void Observer::number_truth(const Value* r) {
  if (!is_plain_number(*r)) return fix_all();
  comparison(CompareOp::Ne, r, nullptr, 0);
}

// The instruction's result is the size of a dimension, all sizes of a tensor, or its number of elements.
void Observer::size_query(const Tensor& x, std::optional<std::int64_t> dim, bool count) {
  if (!tracer_.has_numbers()) return;
  tracer_.sizes_are_followed();
  const Dims sizes = x.sizes();
  if (count) {
    Dim product = 1;
    for (const Dim each : sizes) product = product * each;
    return tracer_.set_later(r_ + i_.a, tracer_.size_expr(product));
  }
  if (dim) {
    const std::int64_t d = *dim < 0 ? *dim + x.rank() : *dim;
    if (d >= 0 && d < x.rank())
      tracer_.set_later(r_ + i_.a, tracer_.size_expr(sizes[static_cast<std::size_t>(d)]));
    return;
  }
  std::vector<ExprId> parts;
  for (const Dim each : sizes) parts.push_back(tracer_.size_expr(each));
  if (std::any_of(parts.begin(), parts.end(), [](ExprId id) { return id >= 0; }))
    tracer_.pending_parts_.emplace_back(r_ + i_.a, std::move(parts));
}

// Makes a list, tuple or slice of numbers. Varying numbers may be items. Tuples and slices within a list may
// not have any, so these are fixed.
void Observer::built() {
  const std::size_t count = op_ == Opcode::BuildSlice ? 3 : i_.c;
  for (std::size_t k = 0; op_ == Opcode::BuildList && k < count; ++k) {
    const Value& item = r_[i_.b + k];
    if (!tracer_.has_parts(item)) continue;
    if (tracer_.varying_.in_loop && tracer_.nested_ == 0)
      return tracer_.stop("a number that changes with each trip is needed as it is");
    tracer_.fix_object(item);
  }
  std::vector<ExprId> parts;
  for (std::size_t k = 0; k < count; ++k) parts.push_back(tracer_.shadow(r_ + i_.b + k));
  if (std::any_of(parts.begin(), parts.end(), [](ExprId id) { return id >= 0; }))
    tracer_.pending_parts_.emplace_back(r_ + i_.a, std::move(parts));
}

void Observer::recalled(const Value& object, std::int64_t at) {
  tracer_.set_later(r_ + i_.a, tracer_.kept_number(object, at));
}

void Observer::stored(const Value& object, std::int64_t at, const Value* r) {
  if (!host::is_context(object) || !r->is(Tag::Tuple)) tracer_.fix_object(*r);
  tracer_.keep_number(object, at, tracer_.shadow(r));
}

// Stores an item of a list, or the value of a key. A varying index is fixed first; the old item is replaced
// in any case.
void Observer::stored_item(const Value& container, const Value* index, const Value* r) {
  if (tracer_.shadow(index) >= 0) fix_all();
  if (tracer_.is_stopped()) return;
  if (container.is(Tag::Dict)) return stored(container, place_of(container.as<Dict>(), *index), r);
  const auto count = static_cast<std::int64_t>(container.as<List>().items.size());
  const std::int64_t at = index->as_int() < 0 ? index->as_int() + count : index->as_int();
  if (at >= 0 && at < count) stored(container, at, r);
}

void Observer::numbers_of_index() {
  const Value& object = op_ == Opcode::GetIndex ? r_[i_.b] : r_[i_.a];
  const Value* index = op_ == Opcode::GetIndex ? r_ + i_.c : r_ + i_.b;
  if (object.is(Tag::Tensor)) {
    if (op_ == Opcode::GetIndex) return tracer_.expect({index, 1}, index);
    if (op_ == Opcode::SetIndexBack && is_written_through(object, r_[i_.c]))
      return;  // no op takes the index again
    const Value* const given[] = {index, r_ + i_.c};
    const ExprId ids[] = {tracer_.shadow(index), tracer_.shadow(r_ + i_.c)};
    return tracer_.expect_operands(given, ids);
  }
  if (op_ == Opcode::GetIndex && object.is(Tag::Tuple) && index->is(Tag::Int) && tracer_.shadow(index) < 0) {
    const std::vector<ExprId> parts = tracer_.parts_of(object);
    const std::int64_t at =
        index->as_int() < 0 ? index->as_int() + static_cast<std::int64_t>(parts.size()) : index->as_int();
    if (at >= 0 && at < static_cast<std::int64_t>(parts.size()))
      tracer_.set_later(r_ + i_.a, parts[static_cast<std::size_t>(at)]);
    return;
  }
  fix_all();
}

namespace {

// Is it an op that returns an int or a float when all its arguments are numbers?
bool is_numeric_op(std::string_view name) {
  const OpEntry* op = find_op(name);
  return op != nullptr && !op->inplace &&
         std::all_of(op->forms.begin(), op->forms.end(), [](const OpForm& form) {
           return form.on_numbers && form.op->pointwise != nullptr &&
                  form.op->pointwise->rule != TypeRule::Predicate;
         });
}

// Is it a function of numbers alone, whose result is a number or a range? Each call of the entry can compute
// it again.
bool is_numeric_function(const Value& f, std::span<const Value> arguments, bool ranges) {
  if (!std::all_of(arguments.begin(), arguments.end(), is_plain_number) || arguments.empty()) return false;
  if (f.is(Tag::Type)) {
    const Tag made = f.as<Type>().instances;
    return made == Tag::Int || made == Tag::Float || (ranges && made == Tag::Range);
  }
  if (!f.is(Tag::Native)) return false;
  const std::string& name = f.as<Native>().name;
  return rule_of_function(name) == HostRule::Computes || is_numeric_op(name);
}

// Does the type of the result depend on values? The greater of an int and a float may be either.
bool decides_kind(const Value& f, std::span<const Value> arguments, bool exponent_varies) {
  if (!f.is(Tag::Native)) return false;
  const std::string& name = f.as<Native>().name;
  if (name == "pow") return exponent_varies;
  const auto is_int = [](const Value& each) { return each.is(Tag::Int); };
  return (name == "min" || name == "max") && std::any_of(arguments.begin(), arguments.end(), is_int) &&
         !std::all_of(arguments.begin(), arguments.end(), is_int);
}

}  // namespace

void Observer::numbers_of_call() {
  if (by_name_) return numbers_by_name();
  const bool method = op_ == Opcode::CallMethod;
  const std::span<const Value> arguments(r_ + i_.a + 1, i_.b);
  if (op_ == Opcode::Call) {
    const Value& f = called_by(r_[i_.a]);
    if (f.is(Tag::Function)) {
      const Function& function = f.as<Function>();
      if (function.code->plain_arity >= static_cast<std::int32_t>(arguments.size())) return;
      return fix_all();
    }
    if (f.is(Tag::Native) && f.as<Native>().name == "len" && arguments.size() == 1 &&
        arguments[0].is(Tag::Tensor) && arguments[0].tensor().rank() > 0)
      return size_query(arguments[0].tensor(), 0, false);
    if (f.is(Tag::StructType) && f.as<StructType>().is_autograd) return tracer_.hand(f, arguments);
    const bool of_exponent = arguments.size() > 1 && tracer_.shadow(&arguments[1]) >= 0;
    if (any_number() && is_numeric_function(f, arguments, follows_range()) &&
        !decides_kind(f, arguments, of_exponent)) {
      Expr expr;
      expr.kind = Expr::Kind::Call;
      expr.constant = f;
      for (const Value& each : arguments) expr.parts.push_back(number_of(&each));
      return tracer_.set_later(r_ + i_.a, tracer_.add_expr(std::move(expr)));
    }
    const bool op = f.is(Tag::Native) && f.as<Native>().unbound != nullptr && is_op(f.as<Native>().name);
    if (op) return tracer_.expect(arguments, arguments.data());
    const bool prints = f.is(Tag::Native) && rule_of_function(f.as<Native>().name) == HostRule::Prints;
    return prints ? void() : fix_all();
  }
  if (!method) {
    const CallShape& shape = frame_.code->shapes[i_.c];
    for (std::size_t k = 0; k < shape.items.size() && k < arguments.size(); ++k) {
      if (shape.items[k].kind == lang::Argument::Kind::Star) tracer_.fix_sizes_of(arguments[k]);
    }
    const bool plain = std::none_of(shape.items.begin(), shape.items.end(), [](const CallShape::Item& each) {
      return each.kind == lang::Argument::Kind::Star || each.kind == lang::Argument::Kind::DoubleStar;
    });
    const bool on_tensor = op_ == Opcode::CallMethodSpread && arguments[0].is(Tag::Tensor) &&
                           !host_member(Tag::Tensor, frame_.code->sites[shape.site].name) &&
                           find_op(frame_.code->sites[shape.site].name) != nullptr;
    const Value& f = called_by(r_[i_.a]);
    const bool op = op_ == Opcode::CallSpread && f.is(Tag::Native) && f.as<Native>().unbound != nullptr &&
                    is_op(f.as<Native>().name);
    if (plain && (on_tensor || op)) return tracer_.expect(arguments, arguments.data());
    return fix_all();
  }
  const Site& site = frame_.code->sites[i_.c];
  const Value& receiver = arguments[0];
  if (receiver.is(Tag::Tensor)) {
    if (site.name == "size" && arguments.size() == 2 && arguments[1].is(Tag::Int) &&
        tracer_.shadow(&arguments[1]) < 0)
      return size_query(receiver.tensor(), arguments[1].as_int(), false);
    if (site.name == "size" && arguments.size() == 1)
      return size_query(receiver.tensor(), std::nullopt, false);
    if (site.name == "numel") return size_query(receiver.tensor(), std::nullopt, true);
    if (!host_member(Tag::Tensor, site.name) && find_op(site.name) != nullptr)
      return tracer_.expect(arguments, arguments.data());
    return fix_all();
  }
  if (receiver.is(Tag::List) && site.name == "append" && arguments.size() == 2)
    return stored(receiver, static_cast<std::int64_t>(receiver.as<List>().items.size()), &arguments[1]);
  if (receiver.is(Tag::Instance) && receiver.as<Instance>().find(site.name) == nullptr) {
    const Value* found = receiver.as<Instance>().struct_type().method(site.name);
    if (found != nullptr && found->is(Tag::Function) &&
        found->as<Function>().code->plain_arity >= static_cast<std::int32_t>(arguments.size()))
      return;
  }
  fix_all();
}

void Observer::follow_numbers() {
  if (!tracer_.has_numbers()) return;
  const Value* a = r_ + i_.a;
  const Value* b = r_ + i_.b;
  const Value* c = r_ + i_.c;
  switch (op_) {
    case Opcode::Call:
    case Opcode::CallMethod:
    case Opcode::CallSpread:
    case Opcode::CallMethodSpread:
      return numbers_of_call();
    case Opcode::GetAttribute:
      return numbers_of_attribute(*b, frame_.code->sites[i_.c].name);
    default:
      break;
  }
  switch (op_) {
    case Opcode::GetGlobal:
    case Opcode::GetPrelude:
      return recalled(Value(static_cast<Object*>(&frame_.module())), i_.b);
    case Opcode::GetCell:
      return recalled(*b, 0);
    case Opcode::GetCapture:
      return recalled(frame_.function->captures[i_.b], 0);
    case Opcode::SetGlobal:
      return stored(Value(static_cast<Object*>(&frame_.module())), i_.b, a);
    case Opcode::SetCell:
      return stored(*b, 0, a);
    case Opcode::SetCapture:
      return stored(frame_.function->captures[i_.b], 0, a);
    case Opcode::SetAttribute:
      if (!a->is(Tag::Instance)) return fix_all();
      return stored(*a, place_of(a->as<Instance>(), frame_.code->sites[i_.c].name), b);
    case Opcode::SetIndex:
    case Opcode::SetIndexBack:
      if (a->is(Tag::List) || a->is(Tag::Dict)) return stored_item(*a, b, c);
      break;
    case Opcode::DictSet:
      return stored_item(*a, b, c);
    case Opcode::ListAppend:
      return stored(*a, static_cast<std::int64_t>(a->as<List>().items.size()), b);
    default:
      break;
  }
  switch (op_) {
    case Opcode::CheckArguments:
      signature();
      break;
    case Opcode::CheckResult:
      signature_of_result(*a);
      break;
    case Opcode::NextFor:
      if (tracer_.is_own_step(frame_)) return tracer_.follow_step(frame_);
      break;
    case Opcode::Return:
      // A host function takes the result of a function that it calls as a plain value.
      if (!tracer_.is_called_back(frame_)) break;
      tracer_.fix_register(a);
      return tracer_.fix_all_in(*a);
    case Opcode::BeginFor:
    case Opcode::Unpack:
    case Opcode::UnpackStar:
    case Opcode::ListExtend:
      tracer_.fix_sizes_of(*b);
      break;
    default:
      break;
  }
  if (!any_number()) return;
  if (const auto op = arithmetic_of(op_)) {
    const std::string_view letters = interp::operands(op_);
    if (letters == "wrr") return binary(*op, b, c, std::nullopt);
    if (letters == "wri") return binary(*op, b, nullptr, i_.c_number());
    if (letters == "mr-") return binary(*op, a, b, std::nullopt);
    return binary(*op, a, nullptr, i_.b_number());
  }
  if (const auto op = comparison_of(op_)) {
    const std::string_view letters = interp::operands(op_);
    if (letters == "wrr") return comparison(*op, b, c, std::nullopt);
    if (letters == "rrj") return comparison(*op, a, b, std::nullopt);
    return comparison(*op, a, nullptr, i_.b_number());
  }
  switch (op_) {
    case Opcode::Binary:
      return binary(static_cast<BinaryOp>((&i_)[1].a), b, c, std::nullopt);
    case Opcode::AugBinary:
      return binary(static_cast<BinaryOp>(i_.c), a, b, std::nullopt);
    case Opcode::Compare: {
      // `is` between a number and a value of another type is false for any number.
      const auto op = static_cast<CompareOp>((&i_)[1].a);
      const bool of_identity = op == CompareOp::Is || op == CompareOp::IsNot;
      if (of_identity && !(is_plain_number(*b) && is_plain_number(*c))) return;
      return fix_all();
    }
    case Opcode::Copy:
    case Opcode::Take:
      return tracer_.set_later(a, tracer_.shadow(b));
    case Opcode::Return:
      return tracer_.set_later(r_ - 1, tracer_.shadow(a));
    case Opcode::Negate: {
      if (!is_plain_number(*b)) return fix_all();
      Expr expr;
      expr.kind = Expr::Kind::Negate;
      expr.a = number_of(b);
      return tracer_.set_later(a, tracer_.add_expr(std::move(expr)));
    }
    case Opcode::JumpIfTrue:
    case Opcode::JumpIfFalse:
      return number_truth(a);
    case Opcode::BuildList:
    case Opcode::BuildTuple:
    case Opcode::BuildSlice:
      return built();
    case Opcode::GetIndex:
    case Opcode::SetIndex:
    case Opcode::SetIndexBack:
      return numbers_of_index();
    case Opcode::Unpack: {
      const std::vector<ExprId> parts = tracer_.parts_of(*b);
      if (b->is(Tag::Tuple) && parts.empty())
        return;  // only tuples and slices within it have varying numbers, which they keep
      if (!b->is(Tag::Tuple) || parts.size() != i_.c) return fix_all();
      for (std::size_t k = 0; k < parts.size(); ++k) tracer_.set_later(a + k, parts[k]);
      return;
    }
    case Opcode::MatchParts:
      return numbers_of_match();
    case Opcode::BeginFor:
      return begin_range();
    case Opcode::NextFor:
      return next_of_range();
    case Opcode::CheckLocal:
    case Opcode::Drop:
    case Opcode::EndFor:
      return;
    default:
      return fix_all();
  }
}

}  // namespace kiln::interp::capture

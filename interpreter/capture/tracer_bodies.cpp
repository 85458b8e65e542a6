// Varying numbers in the bodies of `autograd` functions: what forward is given, what its context keeps, and
// what backward, which runs apart, makes of them.
#include <algorithm>

#include "interpreter/capture/tracer.h"

namespace kiln::interp::capture {
namespace {

// Rules take numbers like these for what they are, as sizes of 1 broadcast.
bool is_followed(const Value& v) { return v.is(Tag::Int) && (v.as_int() < -1 || v.as_int() > 1); }

// Asks how two sizes compare, which is a guard where it depends on symbols.
void compare(lang::CompareOp op, Dim a, Dim b) {
  switch (op) {
    case lang::CompareOp::Lt:
    case lang::CompareOp::Ge:
      return static_cast<void>(a < b);
    case lang::CompareOp::Le:
    case lang::CompareOp::Gt:
      return static_cast<void>(a <= b);
    default:
      return static_cast<void>(a == b);
  }
}

}  // namespace

// A run apart has no guards of its own: what it makes of sizes is asked in the call around it.
void Tracer::fix_sizes_within(ExprId id) {
  const Expr expr = exprs_[id];
  const auto size = [this](ExprId side) -> std::optional<Dim> {
    const Expr& each = exprs_[side];
    if (each.kind == Expr::Kind::Size) return each.size;
    const bool is_whole = each.kind == Expr::Kind::Constant && each.constant.is(Tag::Int);
    return is_whole ? std::optional(Dim(each.constant.as_int())) : std::nullopt;
  };
  if (expr.kind == Expr::Kind::Size) return static_cast<void>(expr.size.fixed());
  if (expr.kind == Expr::Kind::Compare) {
    const auto a = size(expr.a), b = size(expr.b);
    if (a && b) return compare(expr.compare, *a, *b);
  }
  for (const ExprId each : {expr.a, expr.b}) {
    if (each >= 0) fix_sizes_within(each);
  }
  for (const ExprId each : expr.parts) fix_sizes_within(each);
}

void Tracer::hand(const Value& function, std::span<const Value> arguments) {
  const Value* const forward = function.as<StructType>().method("forward");
  const bool is_plain =
      forward != nullptr && forward->is(Tag::Function) &&
      forward->as<Function>().code->plain_arity > static_cast<std::int32_t>(arguments.size());
  Handed handed{function, {}};
  for (const Value& each : arguments) {
    fix_object(each);
    handed.arguments.emplace_back(each, shadow(&each));
  }
  const auto varies = [](const auto& each) { return each.second >= 0; };
  if (std::none_of(handed.arguments.begin(), handed.arguments.end(), varies)) return;
  if (varying_.in_loop && nested_ == 0)
    return stop("a number that changes with each trip is needed as it is");
  if (!is_plain) return fix(handed);
  handed_ = std::move(handed);
}

void Tracer::fix(const Handed& handed) {
  for (const auto& [value, id] : handed.arguments) {
    if (id >= 0) fix(id, value);
  }
}

void Tracer::fix_handed() {
  if (!handed_) return;
  fix(*handed_);
  handed_.reset();
}

// The first function that is called back is forward, with the context before its arguments. Backward is given
// none of them, any other function has them as they are.
void Tracer::take_handed(std::optional<Handed>& handed, const Frame& frame) {
  if (!handed) return;
  const auto runs = [&](std::string_view name) {
    const Value* const method = handed->function.as<StructType>().method(name);
    return method != nullptr && method->is(Tag::Function) && &method->as<Function>() == frame.function;
  };
  if (runs("backward")) return;
  if (handed->is_taken || !runs("forward")) {
    fix(*handed);
    return handed.reset();
  }
  handed->is_taken = true;
  for (std::size_t k = 0; k < handed->arguments.size(); ++k) {
    const auto& [value, id] = handed->arguments[k];
    const Value* const parameter = frame.base + 1 + k;
    if (id < 0) continue;
    identical(*parameter, value) ? void(shadows_[parameter] = id) : fix(id, value);
  }
}

std::vector<Tracer::FieldSizes> Tracer::sizes_in(const Value& context) {
  std::vector<FieldSizes> found;
  std::vector<std::pair<std::int64_t, ExprId>> numbers;
  std::vector<std::pair<Value, std::vector<ExprId>>> tuples;
  const Instance& object = context.as<Instance>();
  for (const auto& [name, v] : object.extra) {
    const std::int64_t at = place_of(object, name);
    if (const ExprId id = kept_number(context, at); id >= 0 && is_followed(v)) {
      numbers.emplace_back(at, id);
      found.push_back({name, {size_of(id, v.as_int())}});
    }
    const std::vector<ExprId> parts = v.is(Tag::Tuple) ? parts_of(v) : std::vector<ExprId>();
    const auto fits = [&](std::size_t k) { return parts[k] < 0 || is_followed(v.as<Tuple>().items[k]); };
    std::vector<std::optional<Dim>> sizes;
    for (std::size_t k = 0; k < parts.size() && fits(k); ++k)
      sizes.push_back(parts[k] < 0 ? std::nullopt : size_of(parts[k], v.as<Tuple>().items[k].as_int()));
    if (sizes.empty() || sizes.size() < parts.size()) continue;
    tuples.emplace_back(v, parts);
    found.push_back({name, std::move(sizes)});
  }
  // What is found is followed on, and all else is fixed.
  for (const auto& [at, id] : numbers) keep_number(context, at, -1);
  for (const auto& [v, parts] : tuples) part_shadows_.erase(identity(v));
  read_all(context);
  for (const auto& [at, id] : numbers) keep_number(context, at, id);
  for (const auto& [v, parts] : tuples) part_shadows_[identity(v)] = {v, parts};
  return found;
}

void Tracer::know_sizes(const Value& context, std::span<const FieldSizes> fields) {
  for (const FieldSizes& each : fields) {
    std::vector<ExprId> parts;
    for (const std::optional<Dim>& size : each.sizes) parts.push_back(size ? size_expr(*size) : -1);
    const Value& v = *context.as<Instance>().find(each.name);
    if (v.is(Tag::Tuple)) {
      part_shadows_[identity(v)] = {v, std::move(parts)};
    } else {
      keep_number(context, place_of(context.as<Instance>(), each.name), parts[0]);
    }
  }
}

}  // namespace kiln::interp::capture

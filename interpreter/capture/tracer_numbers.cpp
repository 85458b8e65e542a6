// Varying numbers: their sources, their expressions, and where they must be fixed after all.
#include <algorithm>

#include "interpreter/capture/tracer.h"
#include "interpreter/values/natives.h"
#include "tensor/collective.h"

namespace kiln::interp::capture {
namespace {

bool is_plain_number(const Value& v) { return v.is(Tag::Int) || v.is(Tag::Float); }

}  // namespace

ExprId Tracer::add_expr(Expr expr) {
  exprs_.all.push_back(std::move(expr));
  return static_cast<ExprId>(exprs_.all.size()) - 1;
}

ExprId Tracer::add_constant(const Value& v) {
  Expr expr;
  expr.constant = v;
  return add_expr(std::move(expr));
}

// An expression of sizes where both are, so that equal ones are known to be equal.
ExprId Tracer::add_binary(lang::BinaryOp op, ExprId a, ExprId b) {
  Expr expr;
  const bool sizes = exprs_[a].kind != Expr::Kind::Source && exprs_[b].kind != Expr::Kind::Source;
  if (const std::optional<Dim> size = sizes ? size_from(op, a, b) : std::nullopt) {
    expr.kind = Expr::Kind::Size;
    expr.size = *size;
    return add_expr(std::move(expr));
  }
  expr.kind = Expr::Kind::Binary;
  expr.binary = op;
  expr.a = a;
  expr.b = b;
  return add_expr(std::move(expr));
}

ExprId Tracer::arrive_number(const Value& v, SourceId source) {
  if (is_plain_number(v) && varying_.numbers.contains(sources_.path(source))) {
    Guard guard;
    guard.kind = Guard::Kind::Tag;
    guard.source = source;
    guard.value = v;
    add_guard(std::move(guard));
    for (std::size_t k = 0; k < exprs_.all.size(); ++k) {
      if (exprs_.all[k].kind == Expr::Kind::Source && exprs_.all[k].source == source)
        return static_cast<ExprId>(k);
    }
    Expr expr;
    expr.kind = Expr::Kind::Source;
    expr.source = source;
    return add_expr(std::move(expr));
  }
  arrive(v, source);
  return -1;
}

ExprId Tracer::shadow(const Value* r) const {
  const auto found = shadows_.find(r);
  return found == shadows_.end() ? -1 : found->second;
}

void Tracer::fix(ExprId id, const Value& v) {
  if (exprs_[id].kind == Expr::Kind::Constant) return;
  if (is_apart_) return fix_sizes_within(id);
  Guard guard;
  guard.kind = Guard::Kind::Computed;
  guard.number = id;
  guard.value = v;
  guard.other = -2 - id;  // each expression has a guard of its own
  add_guard(std::move(guard));
}

void Tracer::fix_register(const Value* r) {
  if (const auto found = shadows_.find(r); found != shadows_.end()) {
    fix(found->second, *r);
    undo_.emplace_back([this, r, id = found->second] { shadows_[r] = id; });
    shadows_.erase(found);
  }
  fix_object(*r);
}

void Tracer::fix_object(const Value& v) {
  if (!v.is(Tag::Tuple) && !v.is(Tag::Slice)) return;
  const auto found = part_shadows_.find(identity(v));
  if (found != part_shadows_.end()) {
    undo_.emplace_back(
        [this, object = found->first, before = found->second] { part_shadows_[object] = before; });
    const std::vector<ExprId> parts = std::move(found->second.parts);
    part_shadows_.erase(found);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (parts[k] < 0) continue;
      const Value& part = v.is(Tag::Tuple) ? v.as<Tuple>().items[k]
                          : k == 0         ? v.as<Slice>().start
                          : k == 1         ? v.as<Slice>().stop
                                           : v.as<Slice>().step;
      fix(parts[k], part);
    }
  }
  if (v.is(Tag::Tuple)) {
    for (const Value& each : v.as<Tuple>().items) fix_object(each);
  }
}

void Tracer::fix_sizes_of(const Value& v) {
  if (!v.is(Tag::Tensor)) return;
  for (const Dim each : v.tensor().sizes()) {
    if (!each.is_known()) fix(size_expr(each), Value(recorder_.hint(each)));
  }
}

// Declared fields come first, then the others.
std::int64_t place_of(const Instance& object, std::string_view name) {
  const int field = object.struct_type().field(name);
  if (field >= 0) return field;
  const auto& extra = object.extra;
  const auto found = std::find_if(extra.begin(), extra.end(), [&](const auto& e) { return e.first == name; });
  return static_cast<std::int64_t>(object.struct_type().fields.size()) + (found - extra.begin());
}

std::int64_t place_of(const Dict& dict, const Value& key) {
  const Value* const found = const_cast<Dict&>(dict).find(key);
  std::int64_t at = 0;
  for (const Dict::Entry& each : dict.entries()) {
    if (&each.value == found) break;
    if (each.live) ++at;
  }
  return at;
}

namespace {

const Value* part_at(const Value& object, std::int64_t at) {
  const auto k = static_cast<std::size_t>(at);
  if (object.is(Tag::List)) return k < object.as<List>().items.size() ? &object.as<List>().items[k] : nullptr;
  if (object.is(Tag::Instance)) {
    const Instance& instance = object.as<Instance>();
    if (k < instance.fields.size()) return &instance.fields[k];
    const std::size_t extra = k - instance.fields.size();
    return extra < instance.extra.size() ? &instance.extra[extra].second : nullptr;
  }
  for (const Dict::Entry& each : object.as<Dict>().entries()) {
    if (each.live && at-- == 0) return &each.value;
  }
  return nullptr;
}

}  // namespace

ExprId Tracer::kept_number(const Value& object, std::int64_t at) const {
  const auto found = kept_numbers_.find({identity(object), at});
  return found == kept_numbers_.end() ? -1 : found->second;
}

void Tracer::keep_number(const Value& object, std::int64_t at, ExprId id) {
  const std::pair where{identity(object), at};
  undo_.emplace_back([this, where, before = kept_number(object, at)] {
    if (before < 0) return void(kept_numbers_.erase(where));
    kept_numbers_[where] = before;
  });
  if (id < 0) return void(kept_numbers_.erase(where));
  keepers_.try_emplace(identity(object), object);
  kept_numbers_[where] = id;
}

void Tracer::fix_kept(const Value& object) {
  if (!keepers_.contains(identity(object))) return;
  const auto first = kept_numbers_.lower_bound({identity(object), 0});
  auto last = first;
  for (; last != kept_numbers_.end() && last->first.first == identity(object); ++last) {
    const Value* const part = part_at(object, last->first.second);
    if (part == nullptr) continue;
    if (varying_.in_loop && nested_ == 0)
      return stop("a number that changes with each trip is needed as it is");
    fix(last->second, *part);
  }
  undo_.emplace_back(
      [this, before = std::vector(first, last)] { kept_numbers_.insert(before.begin(), before.end()); });
  kept_numbers_.erase(first, last);
}

void Tracer::fix_all_kept() {
  for (const auto& [object, value] : keepers_) {
    if (value.is(Tag::List) || is_dict_or_set(value)) fix_kept(value);
  }
}

void Tracer::fix_all_in(const Value& v, int depth) {
  constexpr int kDeepestData = 16;
  if (depth > kDeepestData) return stop("host data is nested too deeply");
  if (v.is(Tag::Tuple) || v.is(Tag::Slice)) fix_object(v);
  if (!v.is(Tag::Tuple) && !v.is(Tag::List) && !is_dict_or_set(v)) return;
  fix_kept(v);
  if (is_dict_or_set(v)) {
    for (const Dict::Entry& each : v.as<Dict>().entries())
      if (each.live) fix_all_in(each.value, depth + 1);
    return;
  }
  for (const Value& each : v.is(Tag::Tuple) ? v.as<Tuple>().items : v.as<List>().items)
    fix_all_in(each, depth + 1);
}

// Guards the layout of an outside tensor. Layouts of tensors made during capture follow from those of inputs
// whose views they are, which are exact.
void Tracer::fix_layout(const Value& v) {
  const OutsideValue* outside = known(v);
  if (outside == nullptr) return;
  for (Guard& each : guards_) {
    if (each.kind != Guard::Kind::Tensor || each.source != outside->source) continue;
    each.tensor.exact_strides = true;
    each.tensor.same_strides = true;
  }
}

void Tracer::read_membership() {
  Guard guard;
  guard.kind = Guard::Kind::Membership;
  guard.number = static_cast<std::int64_t>(membership_version());
  add_guard(std::move(guard));
}

void Tracer::fix_parameter(const Value& v) {
  const OutsideValue* outside = known(v);
  if (outside == nullptr) return;
  for (Guard& each : guards_) {
    if (each.kind == Guard::Kind::Tensor && each.source == outside->source)
      each.tensor.parameter = kiln::is_parameter(v.tensor());
  }
}

std::vector<ExprId> Tracer::parts_of(const Value& v) const {
  if (!v.is(Tag::Tuple) && !v.is(Tag::Slice)) return {};
  const auto found = part_shadows_.find(identity(v));
  return found == part_shadows_.end() ? std::vector<ExprId>() : found->second.parts;
}

// Those of a list, whose items stay where they are until the program changes them.
std::vector<ExprId> Tracer::kept_parts(const Value& list) const {
  std::vector<ExprId> parts;
  const std::size_t count = keepers_.contains(identity(list)) ? list.as<List>().items.size() : 0;
  for (std::size_t k = 0; k < count; ++k) parts.push_back(kept_number(list, static_cast<std::int64_t>(k)));
  return parts;
}

bool Tracer::has_parts(const Value& v) const {
  if (part_shadows_.empty() || (!v.is(Tag::Tuple) && !v.is(Tag::Slice))) return false;
  if (part_shadows_.contains(identity(v))) return true;
  if (v.is(Tag::Slice)) return false;
  const auto& items = v.as<Tuple>().items;
  return std::any_of(items.begin(), items.end(), [this](const Value& each) { return has_parts(each); });
}

int Tracer::add_symbol(Symbol symbol) {
  if (symbol.name.empty()) symbol.name = "s" + std::to_string(unnamed_symbols_++);
  recorder_.add_symbol(symbol.name, symbol.hint, symbol.tensor >= 0);
  exprs_.symbols.push_back(std::move(symbol));
  return static_cast<int>(exprs_.symbols.size()) - 1;
}

// From here on the tensor, which came from outside, has symbols for the sizes that vary.
void Tracer::follow_sizes(const Tensor& x, SourceId source) {
  if (x.impl()->wrapper || sources_[source].kind == Source::Kind::Constant) return;
  if (auto sizes = symbolic_sizes(x, source)) give_sizes(x, std::move(*sizes));
}

bool Tracer::is_taken(std::string_view name, Dim size) const {
  return std::any_of(exprs_.symbols.begin(), exprs_.symbols.end(),
                     [&](const Symbol& each) { return each.name == name && each.hint != size; });
}

// The sizes of an input, with symbols for varying ones. Dimensions that were equal, and still are, share a
// symbol.
std::optional<Dims> Tracer::symbolic_sizes(const Tensor& x, SourceId source) {
  if (!x.is_contiguous() || varying_.fixed_sizes) return std::nullopt;
  if (!varying_.all_sizes && varying_.sizes.empty()) return std::nullopt;
  const std::string path = sources_.path(source);
  Dims sizes = x.sizes();
  std::vector<int> symbols(sizes.size(), -1);
  bool any = false;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const auto varies = varying_.sizes.find({path, static_cast<int>(d)});
    const Dim now = x.sizes()[d];
    if (now < 2 || (!varying_.all_sizes && varies == varying_.sizes.end())) continue;
    const Dim before = varies == varying_.sizes.end() ? now : varies->second;
    const auto named = varying_.names.find({path, static_cast<int>(d)});
    // A name that the signature gives to other sizes, too, is that of the first: where they differ the call
    // is an error.
    const bool is_named = named != varying_.names.end() && !is_taken(named->second, now);
    const std::string name = is_named ? named->second : std::string();
    // What was equal once may be so by chance.
    const bool shares = varies != varying_.sizes.end() && !varying_.expressions.contains(varies->first);
    const auto shared = shared_symbols_.find({now, before, name});
    int symbol;
    if (shares && shared != shared_symbols_.end()) {
      symbol = shared->second;
    } else {
      Symbol made;
      made.name = name;
      made.hint = now;
      made.before = before;
      made.tensor = source;
      made.dim = static_cast<int>(d);
      symbol = add_symbol(std::move(made));
      if (shares) shared_symbols_[{now, before, name}] = symbol;
    }
    symbols[d] = symbol;
    sizes[d] = told_size(path, d, Dim::symbol(exprs_.symbols[static_cast<std::size_t>(symbol)].name));
    any = true;
  }
  if (!any) return std::nullopt;
  for (Guard& each : guards_) {
    if (each.kind == Guard::Kind::Tensor && each.source == source) each.tensor.symbols = symbols;
  }
  return sizes;
}

// A size as the signature gives it in sizes that are known by now, with the guard that it is that; else the
// size itself.
Dim Tracer::told_size(const std::string& path, std::size_t dim, Dim size) {
  const auto told = varying_.expressions.find({path, static_cast<int>(dim)});
  if (told == varying_.expressions.end() || told->second.is_known()) return size;
  std::set<std::string> names;
  collect_symbols(told->second, names);
  const bool known = std::all_of(names.begin(), names.end(), [this](const std::string& name) {
    const auto is_it = [&name](const Symbol& each) { return each.name == name; };
    return std::any_of(exprs_.symbols.begin(), exprs_.symbols.end(), is_it);
  });
  // Sizes that do not fit are the interpreter's error.
  if (!known || recorder_.hint(told->second) != recorder_.hint(size)) return size;
  fix(size_expr(size - told->second), Value(std::int64_t{0}));
  return told->second;
}

ExprId Tracer::size_expr(Dim size) {
  if (size.is_known()) return -1;
  Expr expr;
  expr.kind = Expr::Kind::Size;
  expr.size = size;
  return add_expr(std::move(expr));
}

// What a rule asked of sizes, as a guard of the entry.
Guard Tracer::guard_of(const SizeGuard& guard) {
  const auto side = [this](Dim size) {
    return size.is_known() ? add_constant(Value(size.known())) : size_expr(size);
  };
  Expr asked;
  asked.kind = Expr::Kind::Compare;
  asked.compare = guard.relation == SizeRelation::Equal      ? lang::CompareOp::Eq
                  : guard.relation == SizeRelation::NotEqual ? lang::CompareOp::Ne
                  : guard.relation == SizeRelation::Less     ? lang::CompareOp::Lt
                                                             : lang::CompareOp::Le;
  asked.a = side(guard.a);
  asked.b = side(guard.b);
  Guard made;
  made.kind = Guard::Kind::Computed;
  made.number = add_expr(std::move(asked));
  made.value = Value(true);
  made.reason = guard.op;
  return made;
}

// nullopt where the numbers are no sizes, or sizes have no such operator.
std::optional<Dim> Tracer::size_from(lang::BinaryOp op, ExprId a, ExprId b) {
  const auto size = [this](ExprId id) -> std::optional<Dim> {
    if (exprs_[id].kind == Expr::Kind::Size) return exprs_[id].size;
    if (exprs_[id].kind == Expr::Kind::Constant && exprs_[id].constant.is(Tag::Int))
      return Dim(exprs_[id].constant.as_int());
    return std::nullopt;
  };
  const auto x = size(a);
  const auto y = size(b);
  if (!x || !y) return std::nullopt;
  const bool divides = y->is_known() && y->known() > 0;
  switch (op) {
    case lang::BinaryOp::Add:
      return *x + *y;
    case lang::BinaryOp::Sub:
      return *x - *y;
    case lang::BinaryOp::Mul:
      return *x * *y;
    case lang::BinaryOp::FloorDiv:
      return divides ? std::optional(floor_div(*x, *y)) : std::nullopt;
    case lang::BinaryOp::Mod:
      return divides ? std::optional(floor_mod(*x, *y)) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// The size of n + c or n - c for a constant c is expressed by the symbol of n, so that such numbers share a
// symbol.
std::optional<Dim> Tracer::size_beside(const Expr& sum, std::int64_t value) {
  const bool adds = sum.kind == Expr::Kind::Binary && sum.binary == lang::BinaryOp::Add;
  const bool takes = sum.kind == Expr::Kind::Binary && sum.binary == lang::BinaryOp::Sub;
  if (!adds && !takes) return std::nullopt;
  const Expr& other = exprs_[sum.b];
  if (other.kind != Expr::Kind::Constant || !other.constant.is(Tag::Int)) return std::nullopt;
  const std::int64_t by = other.constant.as_int();
  std::int64_t before = 0;
  const bool overflows =
      adds ? __builtin_sub_overflow(value, by, &before) : __builtin_add_overflow(value, by, &before);
  if (overflows) return std::nullopt;
  const Dim of = *size_of(sum.a, before);
  return adds ? of + Dim(by) : of - Dim(by);
}

// A whole number as an expression of sizes. A number that no rule can express becomes a symbol of its own.
std::optional<Dim> Tracer::size_of(ExprId id, std::int64_t hint) {
  const Expr expr = exprs_[id];
  if (expr.kind == Expr::Kind::Size) return expr.size;
  if (expr.kind == Expr::Kind::Constant && expr.constant.is(Tag::Int)) return Dim(expr.constant.as_int());
  if (is_apart_) {  // it has no symbols of its own
    fix_sizes_within(id);
    return Dim(hint);
  }
  if (const auto size = size_beside(expr, hint)) return size;
  for (const Symbol& each : exprs_.symbols) {
    if (each.expr == id) return Dim::symbol(each.name);
  }
  Symbol made;
  made.hint = hint;
  made.expr = id;
  return Dim::symbol(exprs_.symbols[static_cast<std::size_t>(add_symbol(std::move(made)))].name);
}

namespace {

struct NumberOperand {
  const Value* at;
  ExprId expr;
};

void collect(const Value& v, ExprId expr, const std::function<std::vector<ExprId>(const Value&)>& parts,
             std::vector<NumberOperand>& into) {
  if (is_plain_number(v) || v.is(Tag::Range)) {
    into.push_back({&v, expr});
    return;
  }
  const std::vector<ExprId> of = parts(v);
  const auto part = [&](std::size_t k) { return k < of.size() ? of[k] : -1; };
  if (v.is(Tag::Slice)) {
    collect(v.as<Slice>().start, part(0), parts, into);
    collect(v.as<Slice>().stop, part(1), parts, into);
    collect(v.as<Slice>().step, part(2), parts, into);
  } else if (v.is(Tag::Tuple) || v.is(Tag::List)) {
    const auto& items = v.is(Tag::Tuple) ? v.as<Tuple>().items : v.as<List>().items;
    for (std::size_t k = 0; k < items.size(); ++k) collect(items[k], part(k), parts, into);
  }
}

}  // namespace

// Numbers among the arguments of an op that vary. Whole ones become sizes where the op reads them as
// attributes (size_at); as operands they and floats become inputs of the graph. Where an equal number is
// among the arguments, operands could be taken for each other. Under a transform operands are fixed, too: the
// transform sees the op first, and keeps the plain number.
void Tracer::expect(std::span<const Value> arguments, const Value* first) {
  if (!has_numbers()) return;
  std::vector<const Value*> operands;
  std::vector<ExprId> numbers;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    operands.push_back(&arguments[k]);
    numbers.push_back(shadow(first + k));
  }
  expect_operands(operands, numbers);
}

void Tracer::expect_operands(std::span<const Value* const> operands, std::span<const ExprId> numbers) {
  std::vector<NumberOperand> given;
  const auto parts = [this](const Value& v) { return v.is(Tag::List) ? kept_parts(v) : parts_of(v); };
  for (std::size_t k = 0; k < operands.size(); ++k) collect(*operands[k], numbers[k], parts, given);
  const auto is_small = [](const Value& v) { return v.is(Tag::Int) && v.as_int() >= -1 && v.as_int() <= 1; };
  for (const auto& [at, id] : given) {
    if (id < 0) continue;
    if (at->is(Tag::Range)) {
      fix(id, *at);
      continue;
    }
    const bool alone =
        std::all_of(given.begin(), given.end(), [&, at = at, id = id](const NumberOperand& other) {
          return other.expr == id || !identical(*other.at, *at);
        });
    const bool is_kept = levels::top != &recorder_;
    const bool is_whole = at->is(Tag::Int);
    if (is_kept && varying_.in_loop)
      return stop("a number that changes with each trip is kept by a transform: make it a tensor");
    if (is_small(*at) || (!is_whole && (!alone || is_kept))) {
      fix(id, *at);
      continue;
    }
    jit::Recorder::ExpectedNumber operand;
    if (alone && !is_kept) operand.number = input_of(id, *at);
    recorder_.expected.push_back(std::move(operand));
    expected_.push_back({id, *at, at, is_whole && alone});
  }
  if (!expected_.empty()) followed_numbers = this;
}

// The input of the graph that is this number in each call. A run apart has no such inputs: there a size is
// the operand itself.
Tensor Tracer::input_of(ExprId id, const Value& v) {
  if (is_apart_) return exprs_[id].kind == Expr::Kind::Size ? Tensor::symbol(exprs_[id].size) : Tensor();
  for (const auto& [known, expr] : number_inputs_) {
    if (expr == id) return number_tensors_.at(known);
  }
  const Tensor number = number_as_operand(v);
  number_inputs_.emplace(number.impl(), id);
  number_tensors_.emplace(number.impl(), number);
  const bool is_read = exprs_[id].kind == Expr::Kind::Source;
  recorder_.add_number(number, is_read ? value_name(sources_[exprs_[id].source].text) : std::string());
  return number;
}

// A number that was copied from its place is known by its value, if no other argument has it.
std::optional<Dim> Tracer::size_at(const Value& number) {
  const auto is_it = [&number](const Expected& each) {
    return each.at == &number && each.value.is(Tag::Int);
  };
  const auto is_like = [&number](const Expected& each) {
    return each.is_alone && identical(each.value, number);
  };
  auto found = std::find_if(expected_.begin(), expected_.end(), is_it);
  if (found == expected_.end()) found = std::find_if(expected_.begin(), expected_.end(), is_like);
  if (found == expected_.end()) return std::nullopt;
  recorder_.expected[static_cast<std::size_t>(found - expected_.begin())].used = true;
  return size_of(found->id, number.as_int());
}

std::optional<Dim> Tracer::operand_at(const Value& number) {
  return levels::top == &recorder_ ? std::nullopt : size_at(number);
}

// Fixes the expected numbers that no op used, or that were used where they cannot be followed.
void Tracer::forget_expected() {
  for (std::size_t k = 0; k < expected_.size(); ++k) {
    const jit::Recorder::ExpectedNumber& each = recorder_.expected[k];
    if (!each.used || each.is_fixed) fix(expected_[k].id, expected_[k].value);
  }
  recorder_.expected.clear();
  expected_.clear();
  followed_numbers = nullptr;
}

}  // namespace kiln::interp::capture

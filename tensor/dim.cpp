// The canonical form of sizes, each expression of which exists once.
#include "tensor/dim.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "tensor/error.h"
#include "tensor/size_expression.h"
#include "tensor/size_scope.h"

namespace kiln {
namespace {

// Every atom holds the text of what is inside of it, and a product of sums multiplies their lengths: what no
// program asks for must not fill the memory.
constexpr int kDeepest = 200;
constexpr std::size_t kLongest = std::size_t{1} << 14;  // characters
constexpr std::size_t kMostFactors = 64;
constexpr int kMostQuotientTerms = 64;

[[noreturn]] void too_large() {
  throw OpError(ErrorKind::Overflow, "a symbolic size has too many parts, or parts that nest too deep");
}
[[noreturn]] void overflow() { throw OpError(ErrorKind::Overflow, "the size does not fit 64 bits"); }
void check_divisor(std::int64_t b) {
  if (b == 0) throw OpError(ErrorKind::Value, "a size is divided by 0");
}

// What is interned stays: a Dim is copied as eight bytes, counts nothing, and may outlive the call, the graph
// and the thread that made it. Expressions repeat from call to call, since symbols are named anew in each.
class Interned {
 public:
  static Interned& get() {
    static Interned* const interned = new Interned;
    return *interned;
  }
  const SizeExpression& expression(SizeExpression made) {
    const std::lock_guard lock(mutex_);
    const auto found = expressions_.find(made.text);
    if (found != expressions_.end()) return *found->second;
    auto kept = std::make_unique<const SizeExpression>(std::move(made));
    const std::string_view key = kept->text;
    return *expressions_.emplace(key, std::move(kept)).first->second;
  }
  const SizeAtom& atom(SizeAtom made) {
    const std::lock_guard lock(mutex_);
    const auto found = atoms_.find(made.text);
    if (found != atoms_.end()) return *found->second;
    auto kept = std::make_unique<const SizeAtom>(std::move(made));
    const std::string_view key = kept->text;
    return *atoms_.emplace(key, std::move(kept)).first->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string_view, std::unique_ptr<const SizeExpression>> expressions_;
  std::unordered_map<std::string_view, std::unique_ptr<const SizeAtom>> atoms_;
};

std::string text_of(std::int64_t constant, std::span<const SizeTerm> terms) {
  std::string result;
  for (const SizeTerm& term : terms) {
    const bool negative = term.coefficient < 0;
    if (result.empty()) {
      result = negative ? "-" : "";
    } else {
      result += negative ? " - " : " + ";
    }
    if (term.coefficient != 1 && term.coefficient != -1) {
      const std::string digits = std::to_string(term.coefficient);
      result += (negative ? digits.substr(1) : digits) + "*";
    }
    result += term.key;
  }
  if (terms.empty()) return std::to_string(constant);
  if (constant > 0) result += " + " + std::to_string(constant);
  if (constant < 0) result += " - " + std::to_string(constant).substr(1);
  return result;
}

// Does its text need no brackets as an operand?
bool is_single(Dim size) {
  const auto terms = terms_of(size);
  if (terms.empty()) return constant_of(size) >= 0;
  return constant_of(size) == 0 && terms.size() == 1 && terms[0].coefficient == 1 &&
         terms[0].factors.size() == 1;
}
std::string operand_text(Dim size) { return is_single(size) ? size.text() : "(" + size.text() + ")"; }

int depth_of(Dim size) {
  int deepest = 0;
  for (const SizeTerm& term : terms_of(size)) {
    for (const SizeAtom* factor : term.factors) deepest = std::max(deepest, factor->depth);
  }
  return deepest;
}

bool by_text(const SizeAtom* a, const SizeAtom* b) { return a->text < b->text; }

SizeTerm make_term(std::int64_t coefficient, std::vector<const SizeAtom*> factors) {
  if (factors.size() > kMostFactors) too_large();
  std::sort(factors.begin(), factors.end(), by_text);
  SizeTerm term{coefficient, std::move(factors), {}};
  for (const SizeAtom* factor : term.factors) {
    if (!term.key.empty()) term.key += '*';
    term.key += factor->text;
  }
  return term;
}

// Adds a term to a sum that has each key once.
void add_term(std::vector<SizeTerm>& sum, SizeTerm term) {
  const auto found =
      std::find_if(sum.begin(), sum.end(), [&term](const SizeTerm& each) { return each.key == term.key; });
  if (found == sum.end()) return sum.push_back(std::move(term));
  found->coefficient = checked_add(found->coefficient, term.coefficient);
}

Dim scaled(Dim size, std::int64_t factor) {
  const auto terms = terms_of(size);
  std::vector<SizeTerm> result(terms.begin(), terms.end());
  for (SizeTerm& term : result) term.coefficient = checked_multiply(term.coefficient, factor);
  return make_size(checked_multiply(constant_of(size), factor), std::move(result));
}

}  // namespace

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) overflow();
  return result;
}
std::int64_t checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) overflow();
  return result;
}
std::int64_t floor_div_ints(std::int64_t a, std::int64_t b) {
  check_divisor(b);
  if (b == -1) return checked_multiply(a, -1);
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
std::int64_t floor_mod_ints(std::int64_t a, std::int64_t b) {
  check_divisor(b);
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// ---- Canonical form ----

Dim make_size(std::int64_t constant, std::vector<SizeTerm> terms) {
  std::erase_if(terms, [](const SizeTerm& each) { return each.coefficient == 0; });
  if (terms.empty()) return constant;
  std::size_t length = 0;
  for (const SizeTerm& term : terms) length += term.key.size();
  if (length > kLongest) too_large();
  std::sort(terms.begin(), terms.end(), [](const SizeTerm& a, const SizeTerm& b) { return a.key < b.key; });
  std::string text = text_of(constant, terms);
  return Dim(Interned::get().expression({constant, std::move(terms), std::move(text)}));
}

Dim make_size(SizeAtom::Kind kind, Dim a, Dim b) {
  SizeAtom atom{kind, {}, a, b, std::max(depth_of(a), depth_of(b)) + 1};
  if (atom.depth > kDeepest) too_large();
  switch (kind) {
    case SizeAtom::Kind::FloorDiv:
      atom.text = "(" + operand_text(a) + "//" + operand_text(b) + ")";
      break;
    case SizeAtom::Kind::Mod:
      atom.text = "(" + operand_text(a) + "%" + operand_text(b) + ")";
      break;
    case SizeAtom::Kind::Min:
      atom.text = "min(" + a.text() + ", " + b.text() + ")";
      break;
    case SizeAtom::Kind::Max:
      atom.text = "max(" + a.text() + ", " + b.text() + ")";
      break;
    case SizeAtom::Kind::Symbol:
      throw InternalError("a symbol has no operands");
  }
  return make_size(0, {make_term(1, {&Interned::get().atom(std::move(atom))})});
}

std::int64_t constant_of(Dim size) { return size.is_int() ? size.known() : size.expression()->constant; }
std::span<const SizeTerm> terms_of(Dim size) {
  if (size.is_int()) return {};
  return size.expression()->terms;
}

// ---- Ints that are lower than any size ----

std::int64_t Dim::wide_bits(std::int64_t value) {
  return Dim(Interned::get().expression({value, {}, std::to_string(value)})).bits_;
}
void Dim::refuse_unsigned() { overflow(); }
bool Dim::wide() const { return terms_of(*this).empty(); }
std::int64_t Dim::wide_value() const {
  if (!wide()) throw InternalError("the size " + text() + " is symbolic");
  return constant_of(*this);
}

// ---- Arithmetic ----

Dim Dim::symbol(std::string_view name) {
  const auto is_part = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c & 0x80) != 0;
  };
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_part) || (name[0] >= '0' && name[0] <= '9'))
    throw InternalError("'" + std::string(name) + "' names no symbol");
  SizeAtom atom;
  atom.text = name;
  return make_size(0, {make_term(1, {&Interned::get().atom(std::move(atom))})});
}

Dim Dim::add_slowly(Dim a, Dim b) {
  const auto terms = terms_of(a);
  std::vector<SizeTerm> sum(terms.begin(), terms.end());
  for (const SizeTerm& term : terms_of(b)) add_term(sum, term);
  return make_size(checked_add(constant_of(a), constant_of(b)), std::move(sum));
}

Dim Dim::subtract_slowly(Dim a, Dim b) {
  if (!a.is_known() || !b.is_known()) return add_slowly(a, scaled(b, -1));
  std::int64_t result = 0;
  if (__builtin_sub_overflow(a.known(), b.known(), &result)) overflow();
  return result;
}

Dim Dim::multiply_slowly(Dim a, Dim b) {
  if (a.is_known()) return scaled(b, a.known());
  if (b.is_known()) return scaled(a, b.known());
  std::vector<SizeTerm> sum;
  std::size_t length = 0;
  const auto add = [&](std::int64_t coefficient, std::vector<const SizeAtom*> factors,
                       std::span<const SizeAtom* const> others) {
    factors.insert(factors.end(), others.begin(), others.end());
    SizeTerm term = make_term(coefficient, std::move(factors));
    length += term.key.size();
    if (length > kLongest) too_large();
    add_term(sum, std::move(term));
  };
  const std::int64_t x = constant_of(a);
  const std::int64_t y = constant_of(b);
  for (const SizeTerm& term : terms_of(a)) {
    if (y != 0) add(checked_multiply(term.coefficient, y), term.factors, {});
    for (const SizeTerm& other : terms_of(b))
      add(checked_multiply(term.coefficient, other.coefficient), term.factors, other.factors);
  }
  if (x != 0) {
    for (const SizeTerm& term : terms_of(b)) add(checked_multiply(term.coefficient, x), term.factors, {});
  }
  return make_size(checked_multiply(x, y), std::move(sum));
}

namespace {

// What comes first where polynomials are divided: more factors, then the earlier key.
bool leads(const SizeTerm& a, const SizeTerm& b) {
  if (a.factors.size() != b.factors.size()) return a.factors.size() > b.factors.size();
  return std::lexicographical_compare(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(),
                                      by_text);
}
SizeTerm leading(Dim size) {
  const auto terms = terms_of(size);
  if (terms.empty()) return {constant_of(size), {}, {}};
  return *std::min_element(terms.begin(), terms.end(), leads);
}

// The polynomial q with a = q*b, by long division.
std::optional<Dim> exact_quotient(Dim a, Dim b) {
  const SizeTerm divisor = leading(b);
  Dim quotient = 0;
  for (int i = 0; i < kMostQuotientTerms && !same(a, 0); ++i) {
    const SizeTerm first = leading(a);
    std::vector<const SizeAtom*> factors;
    std::set_difference(first.factors.begin(), first.factors.end(), divisor.factors.begin(),
                        divisor.factors.end(), std::back_inserter(factors), by_text);
    const bool divides = factors.size() + divisor.factors.size() == first.factors.size() &&
                         first.coefficient % divisor.coefficient == 0;
    if (!divides) return std::nullopt;
    const std::int64_t coefficient = floor_div_ints(first.coefficient, divisor.coefficient);
    const Dim part =
        factors.empty() ? Dim(coefficient) : make_size(0, {make_term(coefficient, std::move(factors))});
    quotient += part;
    a -= part * b;
  }
  if (!same(a, 0)) return std::nullopt;
  return quotient;
}

// The part whose coefficients `divisor` divides, over it, and what is left.
struct SplitSize {
  Dim multiple, rest;
};
SplitSize split(Dim size, std::int64_t divisor) {
  const auto terms = terms_of(size);
  std::vector<SizeTerm> whole(terms.begin(), terms.end());
  std::vector<SizeTerm> left = whole;
  for (SizeTerm& term : whole) term.coefficient = floor_div_ints(term.coefficient, divisor);
  for (SizeTerm& term : left) term.coefficient = floor_mod_ints(term.coefficient, divisor);
  return {make_size(floor_div_ints(constant_of(size), divisor), std::move(whole)),
          make_size(floor_mod_ints(constant_of(size), divisor), std::move(left))};
}

// (x//a + c)//b is (x + a*c)//(a*b).
Dim divide_rest(Dim rest, std::int64_t divisor) {
  const auto terms = terms_of(rest);
  const SizeAtom* const atom = terms[0].factors[0];
  const bool nests = divisor > 0 && terms.size() == 1 && terms[0].coefficient == 1 &&
                     terms[0].factors.size() == 1 && atom->kind == SizeAtom::Kind::FloorDiv &&
                     atom->b.is_known() && atom->b.known() > 0;
  std::int64_t whole = 0;
  if (!nests || __builtin_mul_overflow(atom->b.known(), divisor, &whole))
    return make_size(SizeAtom::Kind::FloorDiv, rest, divisor);
  return floor_div(atom->a + atom->b * Dim(constant_of(rest)), Dim(whole));
}

bool holds_always(SizeRelation relation, Dim a, Dim b) {
  const SizeScope* const scope = SizeScope::current();
  return scope != nullptr && scope->decide(relation, a, b) == true;
}

Dim extremum(SizeAtom::Kind kind, Dim a, Dim b) {
  if (same(a, b)) return a;
  if (a.is_known() && b.is_known()) return (a.known() < b.known()) == (kind == SizeAtom::Kind::Min) ? a : b;
  if (holds_always(SizeRelation::AtMost, a, b)) return kind == SizeAtom::Kind::Min ? a : b;
  if (holds_always(SizeRelation::AtMost, b, a)) return kind == SizeAtom::Kind::Min ? b : a;
  return a.text() < b.text() ? make_size(kind, a, b) : make_size(kind, b, a);
}

bool differ_by_int(Dim a, Dim b) {
  const auto x = terms_of(a);
  const auto y = terms_of(b);
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const SizeTerm& p, const SizeTerm& q) {
    return p.coefficient == q.coefficient && p.key == q.key;
  });
}

}  // namespace

Dim floor_div(Dim a, Dim b) {
  if (!b.is_known()) {
    if (const auto quotient = exact_quotient(a, b)) return *quotient;
    return make_size(SizeAtom::Kind::FloorDiv, a, b);
  }
  const std::int64_t divisor = b.known();
  if (a.is_known()) return floor_div_ints(a.known(), divisor);
  check_divisor(divisor);
  const SplitSize parts = split(a, divisor);
  if (parts.rest.is_known()) return parts.multiple;  // 0 <= rest < |b|, with the sign of b
  return parts.multiple + divide_rest(parts.rest, divisor);
}

Dim floor_mod(Dim a, Dim b) {
  if (!b.is_known()) {
    if (exact_quotient(a, b)) return 0;
    return make_size(SizeAtom::Kind::Mod, a, b);
  }
  if (a.is_known()) return floor_mod_ints(a.known(), b.known());
  check_divisor(b.known());
  const Dim rest = split(a, b.known()).rest;
  return rest.is_known() ? rest : make_size(SizeAtom::Kind::Mod, rest, b);
}

Dim ceil_div(Dim a, Dim b) {
  const bool negative = b.is_known() && b.known() < 0;
  return floor_div(a + b - (negative ? -1 : 1), b);
}

Dim min(Dim a, Dim b) {
  if (differ_by_int(a, b)) return constant_of(a) < constant_of(b) ? a : b;
  return extremum(SizeAtom::Kind::Min, a, b);
}
Dim max(Dim a, Dim b) {
  if (differ_by_int(a, b)) return constant_of(a) < constant_of(b) ? b : a;
  return extremum(SizeAtom::Kind::Max, a, b);
}

// Toward zero: the floor of the quotient of the absolute values, with the sign of the exact one.
Dim Dim::divide_slowly(Dim a, Dim b) {
  if (a.is_known() && b.is_known()) {
    check_divisor(b.known());
    if (b.known() == -1) return -a;
    return a.known() / b.known();
  }
  const bool a_negative = a < 0;
  const bool b_negative = b < 0;
  if (b == 0) check_divisor(0);
  const Dim quotient = floor_div(a_negative ? -a : a, b_negative ? -b : b);
  return a_negative == b_negative ? quotient : -quotient;
}
Dim Dim::remainder_slowly(Dim a, Dim b) {
  if (a.is_known() && b.is_known()) {
    check_divisor(b.known());
    return b.known() == -1 ? 0 : a.known() % b.known();
  }
  const bool a_negative = a < 0;
  if (b == 0) check_divisor(0);
  const Dim rest = floor_mod(a_negative ? -a : a, b < 0 ? -b : b);
  return a_negative ? -rest : rest;
}

namespace {
template <class F>
std::optional<Dim> if_fits(const F& compute) {
  try {
    return compute();
  } catch (const OpError& error) {
    if (error.kind() != ErrorKind::Overflow) throw;
    return std::nullopt;
  }
}
}  // namespace

std::optional<Dim> add_if_fits(Dim a, Dim b) {
  return if_fits([=] { return a + b; });
}
std::optional<Dim> multiply_if_fits(Dim a, Dim b) {
  return if_fits([=] { return a * b; });
}

// ---- Readings ----

std::string Dim::text() const {
  const SizeExpression* const symbolic = expression();
  return symbolic != nullptr ? symbolic->text : std::to_string(bits_);
}

std::string to_string(Dim size) {
  if (size.is_known() || SizeScope::current() == nullptr) return size.text();
  return std::to_string(size.hint());
}

void collect_symbols(Dim size, std::set<std::string>& into) {
  for (const SizeTerm& term : terms_of(size)) {
    for (const SizeAtom* atom : term.factors) {
      if (atom->kind == SizeAtom::Kind::Symbol) into.insert(atom->text);
      collect_symbols(atom->a, into);
      collect_symbols(atom->b, into);
    }
  }
}

void collect_symbols(std::span<const Dim> sizes, std::set<std::string>& into) {
  for (const Dim each : sizes) collect_symbols(each, into);
}

bool has_symbols(std::span<const Dim> sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](Dim each) { return !each.is_known(); });
}

bool same(std::span<const Dim> a, std::span<const Dim> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](Dim x, Dim y) { return same(x, y); });
}

namespace {
std::int64_t value_of(const SizeAtom& atom, const SymbolValues& values) {
  if (atom.kind == SizeAtom::Kind::Symbol) {
    const auto found = values.find(atom.text);
    if (found == values.end()) throw InternalError("the size " + atom.text + " has no value");
    return found->second;
  }
  const std::int64_t a = evaluate(atom.a, values);
  const std::int64_t b = evaluate(atom.b, values);
  switch (atom.kind) {
    case SizeAtom::Kind::FloorDiv:
      return floor_div_ints(a, b);
    case SizeAtom::Kind::Mod:
      return floor_mod_ints(a, b);
    case SizeAtom::Kind::Min:
      return std::min(a, b);
    default:
      return std::max(a, b);
  }
}
}  // namespace

std::int64_t evaluate(Dim size, const SymbolValues& values) {
  std::int64_t total = constant_of(size);
  for (const SizeTerm& term : terms_of(size)) {
    std::int64_t product = term.coefficient;
    for (const SizeAtom* atom : term.factors) product = checked_multiply(product, value_of(*atom, values));
    total = checked_add(total, product);
  }
  return total;
}

void refuse_symbolic() { throw InternalError("a kernel is given sizes that are symbols"); }
void refuse_low() { throw InternalError("a kernel gives a size that is lower than any"); }

}  // namespace kiln

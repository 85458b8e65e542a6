#include "tensor/size_scope.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "tensor/error.h"
#include "tensor/size_expression.h"

namespace kiln {
namespace {

thread_local SizeScope* top = nullptr;

// No size, nor a sum of a few, is as large: ends of slices that mean "all" are.
constexpr std::int64_t kLargest = std::int64_t{1} << 61;

// ---- What can be said for all values of the symbols ----

// An int with infinities: a bound that is not known, or too large to matter.
struct Bound {
  bool infinite = false;  // towards the side that it bounds
  std::int64_t value = 0;
};
constexpr Bound kUnknown{true, 0};

Bound plus(Bound a, Bound b) {
  std::int64_t sum = 0;
  if (a.infinite || b.infinite || __builtin_add_overflow(a.value, b.value, &sum)) return kUnknown;
  return {false, sum};
}
Bound times(Bound a, Bound b) {
  std::int64_t product = 0;
  if (a.infinite || b.infinite || __builtin_mul_overflow(a.value, b.value, &product)) return kUnknown;
  return {false, product};
}

struct SizeRange {
  Bound low, high;
};

class SizeBounds {
 public:
  explicit SizeBounds(const SymbolValues& lowest) : lowest_(lowest) {}

  // The least value that the size is known to have. It is a sum of products of atoms. Each atom with a least
  // value is that plus something that is not negative. Multiplied out, what has a positive coefficient can be
  // left out, which finds that (s0 - 1)*(s1 - 1) is positive though it subtracts.
  Bound least(Dim size) const {
    Dim shifted = constant_of(size);
    for (const SizeTerm& term : terms_of(size)) {
      Dim product = term.coefficient;
      for (const SizeAtom* factor : term.factors) {
        const SizeRange range = range_of(*factor);
        const Dim atom = as_size(*factor);
        product *= range.low.infinite ? atom : atom + Dim(range.low.value);
      }
      shifted += product;
    }
    // Now each atom stands for what is above its least value.
    Bound total{false, constant_of(shifted)};
    for (const SizeTerm& term : terms_of(shifted)) total = plus(total, least_of(term));
    return total;
  }

  SizeRange range(Dim size) const {
    const Bound low = least(size);
    const Bound high = least(-size);
    return {low, high.infinite ? kUnknown : Bound{false, -high.value}};
  }

  // Is `size` over `factor` known to be positive, or not negative? Where its bounds do not tell, an atom of
  // it is replaced by what is never larger: floor(x/b) is between (x - b + 1)/b and x/b, a minimum is at most
  // either operand, a maximum at least. At most `replacements` times.
  bool is_above(Dim size, std::int64_t factor, bool strictly, int replacements) const {
    const Bound bound = least(size);
    if (!bound.infinite && bound.value > (strictly ? 0 : -factor)) return true;
    if (replacements == 0) return false;
    for (const SizeTerm& term : terms_of(size)) {
      if (term.factors.size() != 1) continue;
      const SizeAtom& atom = *term.factors[0];
      const Dim others = size - Dim(term.coefficient) * as_size(atom);
      const bool floored = atom.kind == SizeAtom::Kind::FloorDiv && atom.b.is_known() && atom.b.known() > 0;
      if (floored) {
        const Dim numerator = term.coefficient > 0 ? atom.a - (atom.b - Dim(1)) : atom.a;
        return is_above(others * atom.b + Dim(term.coefficient) * numerator,
                        checked_multiply(factor, atom.b.known()), strictly, replacements - 1);
      }
      if (atom.kind == (term.coefficient < 0 ? SizeAtom::Kind::Min : SizeAtom::Kind::Max)) {
        return is_above(others + Dim(term.coefficient) * atom.a, factor, strictly, replacements - 1) ||
               is_above(others + Dim(term.coefficient) * atom.b, factor, strictly, replacements - 1);
      }
    }
    return false;
  }

 private:
  static Dim as_size(const SizeAtom& atom) { return make_size(0, {SizeTerm{1, {&atom}, atom.text}}); }

  Bound least_of(const SizeTerm& term) const {
    Bound product{false, term.coefficient};
    for (const SizeAtom* factor : term.factors) {
      const SizeRange range = range_of(*factor);
      if (range.low.infinite) return kUnknown;
      if (term.coefficient > 0) return {false, 0};
      product = times(product, range.high.infinite ? kUnknown : plus(range.high, {false, -range.low.value}));
    }
    return product;
  }

  SizeRange range_of(const SizeAtom& atom) const {
    if (const auto found = ranges_.find(&atom); found != ranges_.end()) return found->second;
    const SizeRange range = find_range(atom);
    ranges_.emplace(&atom, range);
    return range;
  }

  SizeRange find_range(const SizeAtom& atom) const {
    if (atom.kind == SizeAtom::Kind::Symbol) {
      const auto found = lowest_.find(atom.text);
      const bool any = found == lowest_.end() || found->second == SizeScope::kAnyInt;
      return {any ? kUnknown : Bound{false, found->second}, kUnknown};
    }
    const SizeRange a = range(atom.a);
    const SizeRange b = range(atom.b);
    const bool divides = !b.low.infinite && b.low.value > 0;
    const bool counts = !a.low.infinite && a.low.value >= 0;
    switch (atom.kind) {
      case SizeAtom::Kind::FloorDiv:
        if (atom.b.is_known() && divides) {
          return {a.low.infinite ? kUnknown : Bound{false, floor_div_ints(a.low.value, b.low.value)},
                  a.high.infinite ? kUnknown : Bound{false, floor_div_ints(a.high.value, b.low.value)}};
        }
        return divides && counts ? SizeRange{{false, 0}, a.high} : SizeRange{kUnknown, kUnknown};
      case SizeAtom::Kind::Mod:
        return divides ? SizeRange{{false, 0}, plus(b.high, {false, -1})} : SizeRange{kUnknown, kUnknown};
      case SizeAtom::Kind::Min:
        return {
            a.low.infinite || b.low.infinite ? kUnknown : Bound{false, std::min(a.low.value, b.low.value)},
            a.high.infinite   ? b.high
            : b.high.infinite ? a.high
                              : Bound{false, std::min(a.high.value, b.high.value)}};
      default:
        return {a.low.infinite   ? b.low
                : b.low.infinite ? a.low
                                 : Bound{false, std::max(a.low.value, b.low.value)},
                a.high.infinite || b.high.infinite ? kUnknown
                                                   : Bound{false, std::max(a.high.value, b.high.value)}};
    }
  }

  const SymbolValues& lowest_;
  mutable std::unordered_map<const SizeAtom*, SizeRange> ranges_;
};

constexpr int kReplacements = 4;
bool is_positive(const SizeBounds& bounds, Dim size) { return bounds.is_above(size, 1, true, kReplacements); }
bool is_not_negative(const SizeBounds& bounds, Dim size) {
  return bounds.is_above(size, 1, false, kReplacements);
}

// 2*s0 + 1 is never 0: what divides all coefficients divides the constant of a sum that can be.
bool is_never_zero(Dim size) {
  std::int64_t divisor = 0;
  for (const SizeTerm& term : terms_of(size)) divisor = std::gcd(divisor, term.coefficient);
  return divisor != 0 && constant_of(size) % divisor != 0;
}

bool related(SizeRelation relation, std::int64_t a, std::int64_t b) {
  switch (relation) {
    case SizeRelation::Equal:
      return a == b;
    case SizeRelation::NotEqual:
      return a != b;
    case SizeRelation::Less:
      return a < b;
    default:
      return a <= b;
  }
}

std::string_view sign(SizeRelation relation) {
  switch (relation) {
    case SizeRelation::Equal:
      return " == ";
    case SizeRelation::NotEqual:
      return " != ";
    case SizeRelation::Less:
      return " < ";
    default:
      return " <= ";
  }
}

SizeScope& scope_for(const char* what, Dim size) {
  if (top == nullptr)
    throw InternalError("the size " + size.text() + " is " + what + " where no call is recorded");
  return *top;
}

}  // namespace

// ---- Guards ----

std::string to_string(const SizeGuard& guard) {
  std::string text = guard.a.text() + std::string(sign(guard.relation)) + guard.b.text();
  if (guard.op.empty() && guard.place.empty()) return text;
  return text + " (" + guard.op + (guard.op.empty() || guard.place.empty() ? "" : ", ") + guard.place + ")";
}

void add_guard(std::vector<SizeGuard>& guards, const SizeGuard& guard) {
  const bool known = std::any_of(guards.begin(), guards.end(), [&](const SizeGuard& each) {
    return each.relation == guard.relation && same(each.a, guard.a) && same(each.b, guard.b);
  });
  if (!known) guards.push_back(guard);
}

bool holds(const SizeGuard& guard, const SymbolValues& values) {
  try {
    return related(guard.relation, evaluate(guard.a, values), evaluate(guard.b, values));
  } catch (const OpError&) {
    return false;
  }
}

// ---- Scopes ----

SizeScope::SizeScope() : outer_(top) { top = this; }
SizeScope::SizeScope(const SymbolValues& hints, std::int64_t lowest) : SizeScope() {
  for (const auto& [name, hint] : hints) add(name, hint, hint < lowest ? kAnyInt : lowest);
}
SizeScope::~SizeScope() { top = outer_; }
SizeScope* SizeScope::current() { return top; }

Dim SizeScope::add(std::string_view name, std::int64_t hint, std::int64_t lowest) {
  if (hint < lowest) throw InternalError("the symbol " + std::string(name) + " is lower than it may be");
  const auto known = hints_.find(name);
  if (known != hints_.end() && known->second != hint)
    throw InternalError("the symbol " + std::string(name) + " has two values");
  hints_[name] = hint;
  lowest_[name] = lowest;
  return Dim::symbol(name);
}

std::int64_t SizeScope::hint(Dim size) const {
  return size.is_known() ? size.known() : evaluate(size, hints_);
}

namespace {

// By how much a is more than b, where that is one number for all values of the symbols. Makes no expression.
std::optional<std::int64_t> difference_in_number(Dim a, Dim b) {
  const std::span<const SizeTerm> x = terms_of(a), y = terms_of(b);
  const auto same_term = [](const SizeTerm& p, const SizeTerm& q) {
    return p.coefficient == q.coefficient && p.key == q.key;
  };
  if (!std::equal(x.begin(), x.end(), y.begin(), y.end(), same_term)) return std::nullopt;
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(constant_of(a), constant_of(b), &difference)) return std::nullopt;
  return difference;
}

}  // namespace

SizeScope::Known SizeScope::known_by(const SizeGuard& guard) {
  const Dim difference = guard.b - guard.a;
  switch (guard.relation) {
    case SizeRelation::Equal:
      return {{difference, -difference}, {}};
    case SizeRelation::Less:
      return {{difference - 1}, {}};
    case SizeRelation::AtMost:
      return {{difference}, {}};
    default:
      return {{}, {difference, -difference}};
  }
}

// What guards say of two sizes that differ so: what is a number more than something that is not negative is
// not negative either.
std::optional<bool> SizeScope::implied(SizeRelation relation, Dim difference) const {
  const auto not_negative = [this](Dim size) {
    return std::any_of(known_.begin(), known_.end(), [size](const Known& known) {
      return std::any_of(known.not_negative.begin(), known.not_negative.end(), [size](Dim each) {
        const auto more = difference_in_number(size, each);
        return more && *more >= 0;
      });
    });
  };
  switch (relation) {
    case SizeRelation::Less:
      if (not_negative(difference - 1)) return true;
      if (not_negative(-difference)) return false;
      return std::nullopt;
    case SizeRelation::AtMost:
      if (not_negative(difference)) return true;
      if (not_negative(-difference - 1)) return false;
      return std::nullopt;
    default:
      break;
  }
  const bool asks_equal = relation == SizeRelation::Equal;
  if (not_negative(difference - 1) || not_negative(-difference - 1)) return !asks_equal;
  const bool apart = std::any_of(known_.begin(), known_.end(), [difference](const Known& known) {
    return std::any_of(known.not_zero.begin(), known.not_zero.end(),
                       [difference](Dim each) { return same(each, difference); });
  });
  if (apart) return !asks_equal;
  if (not_negative(difference) && not_negative(-difference)) return asks_equal;
  return std::nullopt;
}

std::optional<bool> SizeScope::decide(SizeRelation relation, Dim a, Dim b) const {
  if (a.is_known() && b.is_known()) return related(relation, a.known(), b.known());
  const bool negated = relation == SizeRelation::NotEqual;
  if (a.is_known() && (a.known() >= kLargest || a.known() <= -kLargest))
    return relation == SizeRelation::Equal ? false : negated || a.known() < 0;
  if (b.is_known() && (b.known() >= kLargest || b.known() <= -kLargest))
    return relation == SizeRelation::Equal ? false : negated || b.known() > 0;
  try {
    const SizeBounds bounds(lowest_);
    const Dim difference = b - a;
    if (difference.is_known()) return related(relation, 0, difference.known());
    switch (relation) {
      case SizeRelation::Less:
        if (is_positive(bounds, difference)) return true;
        if (is_not_negative(bounds, -difference)) return false;
        return implied(relation, difference);
      case SizeRelation::AtMost:
        if (is_not_negative(bounds, difference)) return true;
        if (is_positive(bounds, -difference)) return false;
        return implied(relation, difference);
      default:
        if (is_never_zero(difference) || is_positive(bounds, difference) || is_positive(bounds, -difference))
          return negated;
        return implied(relation, difference);
    }
  } catch (const OpError&) {  // it leaves 64 bits, or has too many parts: nothing is known
    return std::nullopt;
  }
}

bool SizeScope::relate(SizeRelation relation, Dim a, Dim b) {
  if (const auto decided = decide(relation, a, b)) return *decided;
  const bool answer = related(relation, hint(a), hint(b));
  if (answer) {
    record(relation, a, b);
  } else if (relation == SizeRelation::Less) {
    record(SizeRelation::AtMost, b, a);
  } else if (relation == SizeRelation::AtMost) {
    record(SizeRelation::Less, b, a);
  } else {
    record(relation == SizeRelation::Equal ? SizeRelation::NotEqual : SizeRelation::Equal, a, b);
  }
  return answer;
}

void SizeScope::assume(const SizeGuard& guard) {
  add_guard(guards_, guard);
  if (known_.size() < guards_.size()) known_.push_back(known_by(guard));
}

void SizeScope::forget_guards(std::size_t count) {
  guards_.erase(guards_.begin() + static_cast<std::ptrdiff_t>(count), guards_.end());
  known_.erase(known_.begin() + static_cast<std::ptrdiff_t>(count), known_.end());
}

void SizeScope::record(SizeRelation relation, Dim a, Dim b) {
  assume({relation, a, b, std::string(op_), place_});
}

SizeScope::Reason::Reason(std::string_view op) : scope_(top) {
  if (scope_ == nullptr) return;
  before_ = scope_->op_;
  scope_->op_ = op;
}
SizeScope::Reason::~Reason() {
  if (scope_ != nullptr) scope_->op_ = before_;
}

// ---- What a Dim asks ----

std::int64_t Dim::fixed_slowly() const {
  if (is_known()) return known();
  SizeScope& scope = scope_for("used as a number", *this);
  const std::int64_t value = scope.hint(*this);
  scope.relate(SizeRelation::Equal, *this, value);
  return value;
}
std::int64_t Dim::hint_slowly() const {
  return is_known() ? known() : scope_for("used as a number", *this).hint(*this);
}

bool Dim::relate_slowly(SizeRelation relation, Dim a, Dim b) {
  if (a.is_known() && b.is_known()) return related(relation, a.known(), b.known());
  if (same(a, b)) return relation != SizeRelation::Less && relation != SizeRelation::NotEqual;
  return scope_for("compared", a.is_known() ? b : a).relate(relation, a, b);
}

}  // namespace kiln

#include "jit/graph/size.h"

#include <algorithm>

#include "tensor/error.h"

namespace kiln::jit {

struct Size::Atom {
  Kind kind;
  std::string name;             // of a symbol
  std::vector<Size> arguments;  // of the others
  std::string text;
  int depth = 0;  // of the atoms in its arguments, and one
};

namespace {

[[noreturn]] void overflow() { throw OpError(ErrorKind::Overflow, "the size does not fit 64 bits"); }
std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) overflow();
  return result;
}
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) overflow();
  return result;
}
void check_divisor(std::int64_t b) {
  if (b == 0) throw OpError(ErrorKind::Value, "a size is divided by 0");
}

// Every atom holds the text of what is inside of it, and a product of sums multiplies their lengths: what no
// program asks for must not fill the memory.
constexpr int kDeepest = 200;
constexpr std::size_t kLongest = std::size_t{1} << 14;  // characters
constexpr std::size_t kMostFactors = 64;
[[noreturn]] void too_large() {
  throw OpError(ErrorKind::Overflow, "a symbolic size has too many parts, or parts that nest too deep");
}

}  // namespace

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  check_divisor(b);
  if (b == -1) return times(a, -1);
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  check_divisor(b);
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// ---- Canonical form ----

Size Size::made(std::int64_t constant, Terms terms) {
  std::erase_if(terms, [](const auto& each) { return each.second.coefficient == 0; });
  std::size_t length = 0;
  for (const auto& [key, term] : terms) length += key.size();
  if (length > kLongest) too_large();
  Size result(constant);
  if (!terms.empty()) result.terms_ = std::make_shared<const Terms>(std::move(terms));
  return result;
}

Size Size::symbol(std::string name) {
  auto atom = std::make_shared<const Atom>(Atom{Kind::Symbol, name, {}, name});
  return made(0, {{name, Term{1, {atom}}}});
}

Size Size::of_atom(Kind kind, const Size& a, const Size& b) {
  Atom atom{kind, {}, {a, b}, {}, std::max(a.depth(), b.depth()) + 1};
  if (atom.depth > kDeepest) too_large();
  switch (kind) {
    case Kind::FloorDiv:
      atom.text = "(" + a.operand_text() + "//" + b.operand_text() + ")";
      break;
    case Kind::Mod:
      atom.text = "(" + a.operand_text() + "%" + b.operand_text() + ")";
      break;
    case Kind::Min:
      atom.text = "min(" + a.text() + ", " + b.text() + ")";
      break;
    case Kind::Max:
      atom.text = "max(" + a.text() + ", " + b.text() + ")";
      break;
    case Kind::Symbol:
      throw InternalError("a symbol has no operands");
  }
  const std::string key = atom.text;
  return made(0, {{key, Term{1, {std::make_shared<const Atom>(std::move(atom))}}}});
}

int Size::depth() const {
  int deepest = 0;
  if (!terms_) return deepest;
  for (const auto& [key, term] : *terms_) {
    for (const auto& factor : term.factors) deepest = std::max(deepest, factor->depth);
  }
  return deepest;
}

std::int64_t Size::constant() const {
  if (terms_) throw InternalError("the size " + text() + " is symbolic");
  return constant_;
}

Size operator+(const Size& a, const Size& b) {
  const std::int64_t constant = plus(a.constant_, b.constant_);
  if (!a.terms_ && !b.terms_) return constant;
  Size::Terms terms = a.terms_ ? *a.terms_ : Size::Terms{};
  if (b.terms_) {
    for (const auto& [key, term] : *b.terms_) {
      Size::Term& sum = terms[key];
      sum = {plus(sum.coefficient, term.coefficient), term.factors};
    }
  }
  return Size::made(constant, std::move(terms));
}

Size operator*(const Size& a, const Size& b) {
  if (!a.terms_ && !b.terms_) return times(a.constant_, b.constant_);
  Size::Terms terms;
  std::size_t length = 0;
  const auto add = [&terms, &length](std::int64_t coefficient,
                                     const std::vector<std::shared_ptr<const Size::Atom>>& x,
                                     const std::vector<std::shared_ptr<const Size::Atom>>& y) {
    std::vector<std::shared_ptr<const Size::Atom>> factors = x;
    factors.insert(factors.end(), y.begin(), y.end());
    if (factors.size() > kMostFactors) too_large();
    std::sort(factors.begin(), factors.end(), [](const auto& p, const auto& q) { return p->text < q->text; });
    std::string key;
    for (const auto& factor : factors) key += (key.empty() ? "" : "*") + factor->text;
    length += key.size();
    if (length > kLongest) too_large();
    Size::Term& sum = terms[key];
    sum = {plus(sum.coefficient, coefficient), std::move(factors)};
  };
  if (a.terms_) {
    for (const auto& [key, term] : *a.terms_) add(times(term.coefficient, b.constant_), term.factors, {});
  }
  if (b.terms_) {
    for (const auto& [key, term] : *b.terms_) add(times(term.coefficient, a.constant_), term.factors, {});
  }
  if (a.terms_ && b.terms_) {
    for (const auto& [key_a, x] : *a.terms_) {
      for (const auto& [key_b, y] : *b.terms_) add(times(x.coefficient, y.coefficient), x.factors, y.factors);
    }
  }
  return Size::made(times(a.constant_, b.constant_), std::move(terms));
}

Size operator-(const Size& a, const Size& b) { return a + b * Size(-1); }

// The part whose coefficients `divisor` divides, over it, and what is left.
bool Size::splits_by(std::int64_t divisor, Size& multiple, Size& rest) const {
  Terms whole, left;
  if (terms_) {
    for (const auto& [key, term] : *terms_) {
      const std::int64_t quotient = floor_div(term.coefficient, divisor);
      whole[key] = {quotient, term.factors};
      left[key] = {floor_mod(term.coefficient, divisor), term.factors};
    }
  }
  multiple = made(floor_div(constant_, divisor), std::move(whole));
  rest = made(floor_mod(constant_, divisor), std::move(left));
  return multiple != Size(0);
}

Size floor_div(const Size& a, const Size& b) {
  if (!b.terms_) {
    check_divisor(b.constant_);
    Size multiple, rest;
    a.splits_by(b.constant_, multiple, rest);
    if (!rest.terms_) return multiple;  // 0 <= rest < |b|, with the sign of b
    return multiple + Size::of_atom(Size::Kind::FloorDiv, rest, b);
  }
  if (a == b) return 1;
  if (a == Size(0)) return 0;
  return Size::of_atom(Size::Kind::FloorDiv, a, b);
}

Size mod(const Size& a, const Size& b) {
  if (!b.terms_) {
    check_divisor(b.constant_);
    Size multiple, rest;
    a.splits_by(b.constant_, multiple, rest);
    if (!rest.terms_) return rest;
    return Size::of_atom(Size::Kind::Mod, rest, b);
  }
  if (a == b || a == Size(0)) return 0;
  return Size::of_atom(Size::Kind::Mod, a, b);
}

Size Size::extremum(Kind kind, const Size& a, const Size& b) {
  const Size difference = a - b;
  if (!difference.terms_) return (difference.constant_ < 0) == (kind == Kind::Min) ? a : b;
  return a.text() < b.text() ? of_atom(kind, a, b) : of_atom(kind, b, a);
}
Size min(const Size& a, const Size& b) { return Size::extremum(Size::Kind::Min, a, b); }
Size max(const Size& a, const Size& b) { return Size::extremum(Size::Kind::Max, a, b); }

bool operator==(const Size& a, const Size& b) {
  if (a.constant_ != b.constant_ || !a.terms_ != !b.terms_) return false;
  if (a.terms_ == b.terms_) return true;
  return std::equal(a.terms_->begin(), a.terms_->end(), b.terms_->begin(), b.terms_->end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && x.second.coefficient == y.second.coefficient;
                    });
}

// ---- Reading ----

std::int64_t Size::evaluate(const SymbolValues& values) const {
  std::int64_t total = constant_;
  if (!terms_) return total;
  for (const auto& [key, term] : *terms_) {
    std::int64_t product = term.coefficient;
    for (const auto& atom : term.factors) {
      std::int64_t value = 0;
      if (atom->kind == Kind::Symbol) {
        const auto found = values.find(atom->name);
        if (found == values.end()) throw InternalError("the size " + atom->name + " has no value");
        value = found->second;
      } else {
        const std::int64_t a = atom->arguments[0].evaluate(values);
        const std::int64_t b = atom->arguments[1].evaluate(values);
        value = atom->kind == Kind::FloorDiv ? jit::floor_div(a, b)
                : atom->kind == Kind::Mod    ? floor_mod(a, b)
                : atom->kind == Kind::Min    ? std::min(a, b)
                                             : std::max(a, b);
      }
      product = times(product, value);
    }
    total = plus(total, product);
  }
  return total;
}

void Size::collect_symbols(std::set<std::string>& into) const {
  if (!terms_) return;
  for (const auto& [key, term] : *terms_) {
    for (const auto& atom : term.factors) {
      if (atom->kind == Kind::Symbol) into.insert(atom->name);
      for (const Size& argument : atom->arguments) argument.collect_symbols(into);
    }
  }
}

bool Size::is_single() const {
  if (!terms_) return constant_ >= 0;
  return constant_ == 0 && terms_->size() == 1 && terms_->begin()->second.coefficient == 1 &&
         terms_->begin()->second.factors.size() == 1;
}
std::string Size::operand_text() const { return is_single() ? text() : "(" + text() + ")"; }

std::string Size::text() const {
  if (!terms_) return std::to_string(constant_);
  std::string result;
  for (const auto& [key, term] : *terms_) {
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
    result += key;
  }
  if (constant_ > 0) result += " + " + std::to_string(constant_);
  if (constant_ < 0) result += " - " + std::to_string(constant_).substr(1);
  return result;
}

std::string to_string(const Sizes& sizes) {
  std::string result = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) result += (i > 0 ? ", " : "") + sizes[i].text();
  return result + "]";
}
Dims evaluate(const Sizes& sizes, const SymbolValues& values) {
  Dims result;
  for (const Size& size : sizes) result.push_back(size.evaluate(values));
  return result;
}
Sizes to_sizes(std::span<const Dim> sizes) { return Sizes(sizes.begin(), sizes.end()); }

}  // namespace kiln::jit

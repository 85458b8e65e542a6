// Owns the size of a dimension: an int, or an expression over symbols, with the arithmetic that both share.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "tensor/symbol_values.h"

namespace kiln {

struct SizeExpression;  // tensor/size_expression.h: what a symbolic size is made of

enum class SizeRelation : std::uint8_t { Equal, NotEqual, Less, AtMost };

// Eight bytes: an int, or the address of an expression that exists once for all threads and is never freed,
// so that equal expressions are one address. Arithmetic on ints throws OpError (Overflow) where it leaves 64
// bits, and (Value) where it divides by 0. On symbols it builds expressions in one canonical form. A
// comparison, or the conversion to an int, that does not hold or fail for all values of the symbols is
// answered for the values of this call and recorded as a guard (tensor/size_scope.h).
class Dim {
 public:
  constexpr Dim() = default;
  template <std::integral T>
  constexpr Dim(T value) : bits_(checked(value)) {}
  // Throws InternalError for a name that is no word.
  static Dim symbol(std::string_view name);
  // Reads what `text` prints; nothing when it is no such expression. Throws OpError for one that nests too
  // deep or whose numbers do not fit.
  static std::optional<Dim> parse(std::string_view text);

  // Is it kept as an int? False for symbols, and for ints that are lower than any size: see `is_known`.
  constexpr bool is_int() const { return is_kept(bits_); }
  // Is the int kept as one?
  static constexpr bool is_kept(std::int64_t value) { return value >= kLowest; }
  // Is it one number for all values of the symbols?
  constexpr bool is_known() const { return is_int() || wide(); }
  // The number of a size that is_known(); throws InternalError for others.
  constexpr std::int64_t known() const { return is_int() ? bits_ : wide_value(); }
  // The number in this call. Records a guard that fixes it where it is symbolic.
  constexpr std::int64_t fixed() const { return is_int() ? bits_ : fixed_slowly(); }
  // The number in this call without a guard, for messages and for kernels that run in this call alone.
  constexpr std::int64_t hint() const { return is_int() ? bits_ : hint_slowly(); }

  template <class T>
    requires std::same_as<T, std::int64_t>
  constexpr operator T() const {
    return fixed();
  }
  template <class T>
    requires(std::is_arithmetic_v<T> && !std::same_as<T, std::int64_t>)
  explicit constexpr operator T() const {
    if constexpr (std::same_as<T, bool>) {
      return is_int() ? bits_ != 0 : !relate_slowly(SizeRelation::Equal, *this, Dim());
    } else {
      return static_cast<T>(fixed());
    }
  }

  constexpr Dim& operator+=(Dim other) { return *this = add(*this, other); }
  constexpr Dim& operator-=(Dim other) { return *this = subtract(*this, other); }
  constexpr Dim& operator*=(Dim other) { return *this = multiply(*this, other); }
  constexpr Dim& operator/=(Dim other) { return *this = divide(*this, other); }
  constexpr Dim& operator%=(Dim other) { return *this = remainder(*this, other); }
  constexpr Dim& operator++() { return *this += Dim(1); }
  constexpr Dim& operator--() { return *this -= Dim(1); }
  constexpr Dim operator++(int) {
    const Dim before = *this;
    ++*this;
    return before;
  }
  constexpr Dim operator--(int) {
    const Dim before = *this;
    --*this;
    return before;
  }
  constexpr Dim operator-() const { return subtract(Dim(), *this); }
  constexpr Dim operator+() const { return *this; }

  // ---- What the operators below come to ----
  static constexpr Dim add(Dim a, Dim b) {
    std::int64_t result = 0;
    if (a.is_int() && b.is_int() && !__builtin_add_overflow(a.bits_, b.bits_, &result)) [[likely]]
      return result;
    return add_slowly(a, b);
  }
  static constexpr Dim subtract(Dim a, Dim b) {
    std::int64_t result = 0;
    if (a.is_int() && b.is_int() && !__builtin_sub_overflow(a.bits_, b.bits_, &result)) [[likely]]
      return result;
    return subtract_slowly(a, b);
  }
  static constexpr Dim multiply(Dim a, Dim b) {
    std::int64_t result = 0;
    if (a.is_int() && b.is_int() && !__builtin_mul_overflow(a.bits_, b.bits_, &result)) [[likely]]
      return result;
    return multiply_slowly(a, b);
  }
  static constexpr Dim divide(Dim a, Dim b) {
    if (a.is_int() && b.bits_ > 0) [[likely]]
      return a.bits_ / b.bits_;
    return divide_slowly(a, b);
  }
  static constexpr Dim remainder(Dim a, Dim b) {
    if (a.is_int() && b.bits_ > 0) [[likely]]
      return a.bits_ % b.bits_;
    return remainder_slowly(a, b);
  }
  static constexpr bool equal(Dim a, Dim b) {
    if (a.bits_ == b.bits_) return true;
    if (a.is_int() && b.is_int()) [[likely]]
      return false;
    return relate_slowly(SizeRelation::Equal, a, b);
  }
  static constexpr bool less(Dim a, Dim b) {
    if (a.is_int() && b.is_int()) [[likely]]
      return a.bits_ < b.bits_;
    return relate_slowly(SizeRelation::Less, a, b);
  }
  static constexpr bool at_most(Dim a, Dim b) {
    if (a.is_int() && b.is_int()) [[likely]]
      return a.bits_ <= b.bits_;
    return relate_slowly(SizeRelation::AtMost, a, b);
  }

  // ---- Functions that compare nothing ----
  // As the language's `//` and `%`. Throws OpError (Value) for a divisor of 0.
  friend Dim floor_div(Dim a, Dim b);
  friend Dim floor_mod(Dim a, Dim b);  // with the sign of b
  friend Dim ceil_div(Dim a, Dim b);
  // Of symbols an expression, where std::min and std::max would record which one it is.
  friend Dim min(Dim a, Dim b);
  friend Dim max(Dim a, Dim b);
  // Is it the same expression? Asks for no value and records nothing.
  friend constexpr bool same(Dim a, Dim b) { return a.bits_ == b.bits_; }

  // The expression of a size that is not an int; null for an int.
  const SizeExpression* expression() const {
    return is_int() ? nullptr : reinterpret_cast<const SizeExpression*>(bits_ ^ kTag);
  }
  explicit Dim(const SizeExpression& expression)
      : bits_(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&expression)) ^ kTag) {}
  std::string text() const;  // of the expression: "2*s0 + 1"
  std::size_t hash() const { return std::hash<std::int64_t>()(bits_); }

 private:
  // Addresses of user space have their highest bits clear, so an address with the highest bit set is lower
  // than the lowest int. Ints below that are expressions without symbols.
  static constexpr std::int64_t kTag = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kLowest = -(std::int64_t{1} << 62);

  template <class T>
  static constexpr std::int64_t checked(T value) {
    if constexpr (std::is_signed_v<T> && sizeof(T) == 8) {
      if (value < kLowest) [[unlikely]]
        return wide_bits(value);
    } else if constexpr (sizeof(T) == 8) {
      if (value > static_cast<T>(std::numeric_limits<std::int64_t>::max())) [[unlikely]]
        refuse_unsigned();
    }
    return static_cast<std::int64_t>(value);
  }
  static std::int64_t wide_bits(std::int64_t value);
  [[noreturn]] static void refuse_unsigned();
  bool wide() const;
  std::int64_t wide_value() const;
  std::int64_t fixed_slowly() const;
  std::int64_t hint_slowly() const;
  static Dim add_slowly(Dim a, Dim b);
  static Dim subtract_slowly(Dim a, Dim b);
  static Dim multiply_slowly(Dim a, Dim b);
  static Dim divide_slowly(Dim a, Dim b);
  static Dim remainder_slowly(Dim a, Dim b);
  static bool relate_slowly(SizeRelation relation, Dim a, Dim b);

  std::int64_t bits_ = 0;
};
static_assert(sizeof(Dim) == 8 && std::is_trivially_copyable_v<Dim>);

// ---- Operators --------------------------------------------------------------------------------------------

// Both are sizes, or one is and the other an integer. As templates they fit exactly, so that no operator of
// the language on integers competes.
template <class A, class B>
concept DimOperands = (std::same_as<A, Dim> && (std::same_as<B, Dim> || std::integral<B>)) ||
                      (std::integral<A> && std::same_as<B, Dim>);

template <class A, class B>
  requires DimOperands<A, B>
constexpr Dim operator+(A a, B b) {
  return Dim::add(a, b);
}
template <class A, class B>
  requires DimOperands<A, B>
constexpr Dim operator-(A a, B b) {
  return Dim::subtract(a, b);
}
template <class A, class B>
  requires DimOperands<A, B>
constexpr Dim operator*(A a, B b) {
  return Dim::multiply(a, b);
}
// Toward zero, as of ints. On symbols the signs are asked for; `floor_div` asks for nothing.
template <class A, class B>
  requires DimOperands<A, B>
constexpr Dim operator/(A a, B b) {
  return Dim::divide(a, b);
}
template <class A, class B>
  requires DimOperands<A, B>
constexpr Dim operator%(A a, B b) {
  return Dim::remainder(a, b);
}
template <class A, class B>
  requires DimOperands<A, B>
constexpr bool operator==(A a, B b) {
  return Dim::equal(a, b);
}
template <class A, class B>
  requires DimOperands<A, B>
constexpr bool operator<(A a, B b) {
  return Dim::less(a, b);
}
template <class A, class B>
  requires DimOperands<A, B>
constexpr bool operator<=(A a, B b) {
  return Dim::at_most(a, b);
}
template <class A, class B>
  requires DimOperands<A, B>
constexpr bool operator>(A a, B b) {
  return Dim::less(b, a);
}
template <class A, class B>
  requires DimOperands<A, B>
constexpr bool operator>=(A a, B b) {
  return Dim::at_most(b, a);
}

// Where ints and addresses are counted on, a size is the int that it is.
template <std::same_as<std::int64_t> T>
constexpr T& operator+=(T& total, Dim size) {
  return total += size.fixed();
}
template <std::same_as<std::int64_t> T>
constexpr T& operator*=(T& total, Dim size) {
  return total *= size.fixed();
}
template <std::same_as<std::int64_t> T>
constexpr T& operator/=(T& total, Dim size) {
  return total /= size.fixed();
}
template <class T>
constexpr T* operator+(T* place, Dim count) {
  return place + count.fixed();
}

// ---- Readings --------------------------------------------------------------------------------------------

// Nothing where the int would leave 64 bits, or the expression would be too large.
std::optional<Dim> add_if_fits(Dim a, Dim b);
std::optional<Dim> multiply_if_fits(Dim a, Dim b);

// The value at these values of the symbols; throws InternalError for a symbol without one, OpError as above.
std::int64_t evaluate(Dim size, const SymbolValues& values);
void collect_symbols(Dim size, std::set<std::string>& into);
void collect_symbols(std::span<const Dim> sizes, std::set<std::string>& into);
bool has_symbols(std::span<const Dim> sizes);
// As `same` of each.
bool same(std::span<const Dim> a, std::span<const Dim> b);
// The number of this call where a call is recorded, so that messages read as those of eager code, else the
// expression.
std::string to_string(Dim size);

// The sizes as ints, for kernels: no copy, one comparison each. Throws InternalError for a symbolic one.
[[noreturn]] void refuse_symbolic();
inline std::span<const std::int64_t> ints(std::span<const Dim> sizes) {
  static_assert(std::is_standard_layout_v<Dim>);
  bool all = true;
  for (const Dim each : sizes) all &= each.is_int();
  if (!all) [[unlikely]]
    refuse_symbolic();
  return {reinterpret_cast<const std::int64_t*>(sizes.data()), sizes.size()};
}
// The ints as sizes, without a copy. Throws InternalError for one that is too low to be kept as an int.
[[noreturn]] void refuse_low();
inline std::span<const Dim> dims(std::span<const std::int64_t> sizes) {
  bool all = true;
  for (const std::int64_t each : sizes) all &= Dim::is_kept(each);
  if (!all) [[unlikely]]
    refuse_low();
  return {reinterpret_cast<const Dim*>(sizes.data()), sizes.size()};
}

}  // namespace kiln

template <>
struct std::hash<kiln::Dim> {
  std::size_t operator()(kiln::Dim size) const { return size.hash(); }
};
template <>
struct std::numeric_limits<kiln::Dim> : std::numeric_limits<std::int64_t> {};
template <std::integral T>
struct std::common_type<kiln::Dim, T> {
  using type = kiln::Dim;
};
template <std::integral T>
struct std::common_type<T, kiln::Dim> {
  using type = kiln::Dim;
};

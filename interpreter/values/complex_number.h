// Owns complex numbers of the language: Python's rules for what they compute with numbers and each other.
#pragma once

#include <cstddef>

#include "interpreter/values/value.h"
#include "lang/ast.h"
#include "tensor/complex.h"

namespace kiln::interp {

// Never changes, so that copies may share it.
struct ComplexNumber : Object {
  const kiln::Complex<double> value;
  explicit ComplexNumber(kiln::Complex<double> v) : Object(Tag::Complex), value(v) {}
};

Value complex_value(double real, double imaginary);
inline Value complex_value(kiln::Complex<double> v) { return complex_value(v.real, v.imaginary); }

// A number of any kind, complex ones among them.
inline bool is_any_number(const Value& v) { return v.is_number() || v.is(Tag::Complex); }
// Of a number of any kind: a real one has an imaginary part of 0.
inline kiln::Complex<double> complex_of(const Value& v) {
  return v.is(Tag::Complex) ? v.as<ComplexNumber>().value : kiln::Complex<double>{v.number(), 0};
}

// One of the two at least is complex, the other a number. Throws UserError: ValueError for division by zero,
// TypeError for operators that want an order, a remainder or bits.
Value complex_operator(lang::BinaryOp op, const Value& a, const Value& b);
// `==`: an int counts as exactly what it is.
bool complex_equal(const Value& a, const Value& b);
// Both parts have the same bits, so that 0 and -0 differ and nan is itself.
bool same_complex_bits(const ComplexNumber& a, const ComplexNumber& b);
std::size_t complex_hash(const ComplexNumber& v);

double complex_abs(kiln::Complex<double> v);

}  // namespace kiln::interp

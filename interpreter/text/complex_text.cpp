#include "interpreter/text/complex_text.h"

#include <cmath>

#include "interpreter/values/natives.h"

namespace kiln::interp {
namespace {

// Whole numbers without the `.0` that tells a float from an int: the `j` tells enough.
template <class T>
std::string part_text(T value) {
  std::string text = repr_of(value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

template <class T>
std::string text_of(kiln::Complex<T> z) {
  const std::string imaginary = part_text(z.imaginary) + "j";
  if (z.real == 0 && !std::signbit(z.real)) return imaginary;
  const bool has_sign = imaginary.front() == '-';
  return "(" + part_text(z.real) + (has_sign ? "" : "+") + imaginary + ")";
}

}  // namespace

std::string repr_of_complex(kiln::Complex<double> z) { return text_of(z); }
std::string repr_of_complex(kiln::Complex<float> z) { return text_of(z); }

}  // namespace kiln::interp

#include "interpreter/text/complex_text.h"

#include <cmath>

#include <fmt/format.h>

#include "interpreter/text/format.h"
#include "interpreter/values/natives.h"
#include "interpreter/values/raise.h"

namespace kiln::interp {
namespace {

// Whole numbers without the `.0` that tells a float from an int: the `j` tells enough.
template <class T>
std::string part_text(T value) {
  std::string text = repr_of(value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

// Without padding.
std::string formatted_part(double value, const FormatSpec& spec, char sign) {
  if (spec.type == 0 && spec.precision < 0 && spec.grouping == 0) {
    const std::string text = part_text(value);
    return text.front() == '-' || sign == '-' ? text : sign + text;
  }
  FormatSpec part = spec;
  part.fill = " ";
  part.align = 0;
  part.width = 0;
  part.sign = sign;
  if (part.type == 0) part.type = 'g';
  return format_float(value, part);
}

template <class T>
std::string written(kiln::Complex<T> z) {
  const std::string imaginary = part_text(z.imaginary) + "j";
  if (z.real == 0 && !std::signbit(z.real)) return imaginary;
  const bool has_sign = imaginary.front() == '-';
  return "(" + part_text(z.real) + (has_sign ? "" : "+") + imaginary + ")";
}

}  // namespace

// Both parts in the format of a float. Without a type it reads as `repr` does, with the precision.
std::string format_complex(kiln::Complex<double> z, const FormatSpec& spec) {
  constexpr std::string_view kTypes = "eEfFgGn";
  if (spec.type != 0 && kTypes.find(spec.type) == std::string_view::npos) {
    raise("ValueError", fmt::format("format type '{}' does not fit a value of type complex", spec.type));
  }
  if (spec.align == '=') raise("ValueError", "alignment '=' and zeros in front are not for a complex number");
  const bool is_plain = spec.type == 0;
  const bool has_real = !is_plain || z.real != 0 || std::signbit(z.real);
  std::string text = has_real ? formatted_part(z.real, spec, spec.sign) : "";
  text += formatted_part(z.imaginary, spec, has_real ? '+' : spec.sign) + "j";
  if (is_plain && has_real) text = "(" + text + ")";
  FormatSpec whole;
  whole.fill = spec.fill;
  whole.align = spec.align == 0 ? '>' : spec.align;
  whole.width = spec.width;
  return format_text(text, whole);
}

std::string repr_of_complex(kiln::Complex<double> z) { return written(z); }
std::string repr_of_complex(kiln::Complex<float> z) { return written(z); }

}  // namespace kiln::interp

#include "interpreter/host/number_types.h"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "interpreter/values/complex_number.h"
#include "interpreter/vm/arguments.h"
#include "tensor/functions.h"

namespace kiln::interp::host {

std::string_view stripped(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\r\v\f";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Digits without the single underscores that may stand between them; empty when they are misplaced.
std::string without_underscores(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits += text[i];
    } else if (i == 0 || i + 1 == text.size() || text[i - 1] == '_') {
      return {};
    }
  }
  return digits;
}

double parse_float(const std::string& text) {
  std::string_view body = stripped(text);
  const bool negative = !body.empty() && body.front() == '-';
  if (!body.empty() && (body.front() == '-' || body.front() == '+')) body.remove_prefix(1);
  const std::string digits = without_underscores(body);
  double value = 0;
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, value);
  if (digits.empty() || end != last || digits.front() == '-' || digits.find('(') != std::string::npos) {
    raise("ValueError", fmt::format("{} is not a number", repr_of(std::string_view(text))));
  }
  if (error == std::errc::result_out_of_range)
    value = digits.find("e-") != std::string::npos || digits.find("E-") != std::string::npos ? 0.0 : HUGE_VAL;
  return negative ? -value : value;
}

[[noreturn]] void refuse_complex_number(std::string_view type) {
  raise("TypeError", fmt::format("{}: a complex number is no real number", type),
        "take `z.real`, or `abs(z)`");
}

namespace {

// `1+2j`, in parentheses or not, as complex numbers are printed.
Value parse_complex(const std::string& text) {
  std::string_view body = stripped(text);
  if (body.size() > 1 && body.front() == '(' && body.back() == ')')
    body = stripped(body.substr(1, body.size() - 2));
  if (body.empty() || (body.back() != 'j' && body.back() != 'J'))
    return complex_value(parse_float(std::string(body)), 0);
  body.remove_suffix(1);
  std::size_t sign = body.find_last_of("+-");
  while (sign != std::string_view::npos && sign > 0 && (body[sign - 1] == 'e' || body[sign - 1] == 'E'))
    sign = body.substr(0, sign).find_last_of("+-");
  const std::string_view real = sign == std::string_view::npos ? "" : body.substr(0, sign);
  const std::string_view imaginary = sign == std::string_view::npos ? body : body.substr(sign);
  const bool is_unit = imaginary.empty() || imaginary == "+" || imaginary == "-";
  const std::string digits = std::string(imaginary) + (is_unit ? "1" : "");
  return complex_value(real.empty() ? 0 : parse_float(std::string(real)), parse_float(digits));
}

Value complex_tensor(Interpreter& interpreter, const Value& real, const Value& imaginary) {
  if (!imaginary.is_none()) return call_op(interpreter, "complex", std::array<Value, 2>{real, imaginary}, {});
  return Value(kiln::ops::to(real.tensor(), kiln::complex_of(real.tensor().dtype())));
}

}  // namespace

Value make_complex(Interpreter& interpreter, std::span<Value> arguments) {
  const Value& real = arguments[0];
  const Value& imaginary = arguments[1];
  if (real.is(Tag::Tensor) || imaginary.is(Tag::Tensor)) return complex_tensor(interpreter, real, imaginary);
  if (real.is(Tag::Str) && imaginary.is_none()) return parse_complex(text_of(real));
  if (!is_any_number(real)) wrong_type("real", "a number, a tensor or text", real);
  if (imaginary.is_none()) return complex_value(complex_of(real));
  if (!is_any_number(imaginary)) wrong_type("imag", "a number or a tensor", imaginary);
  const kiln::Complex<double> a = complex_of(real);
  const kiln::Complex<double> b = complex_of(imaginary);
  // a + b * 1j, where a part of 0 that is not there has no sign to change another's.
  return complex_value(imaginary.is(Tag::Complex) ? a.real - b.imaginary : a.real,
                       real.is(Tag::Complex) ? a.imaginary + b.real : b.real);
}

}  // namespace kiln::interp::host

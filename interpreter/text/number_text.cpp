// Text of numbers and strings as source code would have them.
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "interpreter/values/natives.h"
#include "interpreter/values/utf8.h"

namespace kiln::interp {
namespace {

// Lays out shortest digits as Python's repr does: positional from 1e-4 up to, not including, 1e16.
template <class T>
std::string shortest(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.begin(), buffer.end(), value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const std::size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), end, exponent);
  if (exponent < -4 || exponent >= 16) return std::string(text);
  const auto fixed_end = std::to_chars(buffer.begin(), buffer.end(), value, std::chars_format::fixed).ptr;
  std::string fixed(buffer.begin(), fixed_end);
  if (fixed.find('.') == std::string::npos) fixed += ".0";
  return fixed;
}

void append_escaped(std::string& out, char32_t c, char quote) {
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\\':
      out += "\\\\";
      return;
    default:
      break;
  }
  if (c == static_cast<char32_t>(quote)) {
    out += '\\';
    out += quote;
  } else if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xfffd) {
    out += fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(c));
  } else {
    append_code_point(out, c);
  }
}

}  // namespace

std::string repr_of(double value) { return shortest(value); }
std::string repr_of(float value) { return shortest(value); }

std::string repr_of(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (std::size_t at = 0; at < text.size(); at += code_point_bytes(text, at)) {
    append_escaped(out, code_point_at(text, at), quote);
  }
  out += quote;
  return out;
}

}  // namespace kiln::interp

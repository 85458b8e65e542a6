#include "lang/literals.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "lang/complaint.h"
#include "lang/utf8.h"

namespace kiln::lang {
namespace {

// Underscores may stand between digits only. Gives the text without them.
std::string without_underscores(Span literal) {
  const std::string_view text = literal.text();
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits += text[i];
      continue;
    }
    const auto is_digit = [&](std::size_t at) {
      return at < text.size() && std::isxdigit(static_cast<unsigned char>(text[at]));
    };
    if (!is_digit(i - 1) || !is_digit(i + 1)) {
      const auto at = literal.begin + static_cast<std::uint32_t>(i);
      syntax_error({literal.file, at, at + 1}, "an underscore in a number must stand between two digits");
    }
  }
  return digits;
}

std::int64_t integer_value(Span literal, std::string_view digits, int base, bool negative) {
  std::uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  if (digits.empty() || end != digits.data() + digits.size()) {
    const std::string kind = base == 16  ? "hexadecimal"
                             : base == 8 ? "octal"
                             : base == 2 ? "binary"
                                         : "decimal";
    syntax_error(literal, "`" + std::string(literal.text()) + "` is not a " + kind + " number");
  }
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;
  if (error != std::errc() || magnitude > kLimit || (magnitude == kLimit && !negative)) {
    syntax_error(literal, "this integer does not fit into 64 bits",
                 base == 10 ? "write it as a float: `" + std::string(literal.text()) + ".0`" : "");
  }
  return magnitude == kLimit ? std::numeric_limits<std::int64_t>::min()
                             : static_cast<std::int64_t>(magnitude);
}

double float_value(std::string_view digits) {
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) {
    const bool tiny = digits.find("e-") != std::string::npos || digits.find("E-") != std::string::npos;
    return tiny ? 0.0 : HUGE_VAL;
  }
  return value;
}

// Of the decimal number before a `j`; empty where the text is no number.
std::optional<Imaginary> imaginary_value(std::string_view digits) {
  const bool is_number = digits.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
  if (!is_number || digits.ends_with('e') || digits.ends_with('E')) return std::nullopt;
  return Imaginary{float_value(digits)};
}

std::uint32_t hex_digits(Span text, std::uint32_t begin, std::uint32_t end) {
  std::uint32_t value = 0;
  const char* first = text.file->text().data();
  const auto [stop, error] = std::from_chars(first + begin, first + end, value, 16);
  return stop == first + end && error == std::errc() && begin < end ? value : kBadCodePoint;
}

// One escape, which begins at the backslash `at`. Gives where it ends.
std::uint32_t unescape_one(Span text, std::uint32_t at, std::string& out) {
  const std::string_view source = text.file->text();
  const char letter = source[at + 1];
  static constexpr std::string_view kLetters = "nt\\\"'r0abfve";
  static constexpr std::string_view kValues{"\n\t\\\"'\r\0\a\b\f\v\x1b", 12};
  if (const std::size_t found = kLetters.find(letter); found != std::string_view::npos) {
    out += kValues[found];
    return at + 2;
  }
  if (letter == '\n') return at + 2;  // a backslash at the end of a line joins it with the next
  if (letter == '\r' && at + 2 < text.end && source[at + 2] == '\n') return at + 3;
  std::uint32_t begin = at + 2;
  std::uint32_t end = std::min(begin + 2, text.end);
  std::uint32_t after = end;
  if (letter == 'u') {
    const std::size_t close =
        begin < text.end && source[begin] == '{' ? source.find('}', begin) : std::string_view::npos;
    if (close == std::string_view::npos || close >= text.end) {
      syntax_error({text.file, at, begin}, "`\\u` must be followed by a code point in braces",
                   "write `\\u{1F525}`");
    }
    ++begin;
    end = static_cast<std::uint32_t>(close);
    after = end + 1;
  } else if (letter != 'x') {
    const CodePoint point = decode_utf8(source, at + 1);
    const Span place{text.file, at, at + 1 + point.length};
    syntax_error(place, "unknown escape `" + std::string(place.text()) + "` in a string",
                 "a backslash itself is written `\\\\`");
  }
  const std::uint32_t value = hex_digits(text, begin, end);
  if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF) || (letter == 'x' && end - begin != 2)) {
    const Span place{text.file, at, after};
    syntax_error(place, "`" + std::string(place.text()) + "` does not name a character");
  }
  append_utf8(out, value);
  return after;
}

}  // namespace

std::variant<std::int64_t, double, Imaginary> number_value(Span literal, bool negative) {
  const std::string digits = without_underscores(literal);
  if (digits.size() > 1 && digits[0] == '0') {
    const char mark = static_cast<char>(digits[1] | 0x20);
    const int base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    if (base != 0) return integer_value(literal, std::string_view(digits).substr(2), base, negative);
  }
  if (digits.ends_with('j') || digits.ends_with('J')) {
    if (const auto value = imaginary_value(std::string_view(digits).substr(0, digits.size() - 1)))
      return *value;
  }
  const std::size_t rubbish = digits.find_first_not_of("0123456789.eE+-");
  if (rubbish != std::string::npos || digits.back() == 'e' || digits.back() == 'E') {
    const bool attribute = digits.find('.') != std::string::npos && digits.find('.') + 1 == rubbish;
    const std::string whole(literal.text());
    const std::size_t dot = whole.find('.');
    syntax_error(literal, "`" + whole + "` is not a number",
                 attribute ? "write `(" + whole.substr(0, dot) + ")" + whole.substr(dot) + "`" : "");
  }
  if (digits.find_first_of(".eE") != std::string::npos) return float_value(digits);
  if (digits.size() > 1 && digits[0] == '0' && digits.find_first_not_of('0') != std::string::npos) {
    syntax_error(literal, "a decimal number does not begin with 0", "an octal number is written `0o17`");
  }
  return integer_value(literal, digits, 10, negative);
}

bool needs_unescaping(std::string_view text) { return text.find_first_of("\\\r") != std::string_view::npos; }

void unescape(Span text, std::string& out) {
  const std::string_view source = text.file->text();
  for (std::uint32_t at = text.begin; at < text.end;) {
    if (source[at] == '\\' && at + 1 < text.end) {
      at = unescape_one(text, at, out);
    } else if (source[at] == '\r' && at + 1 < text.end && source[at + 1] == '\n') {
      ++at;  // lines end in \n whatever the file uses
    } else {
      out += source[at++];
    }
  }
}

QuotedText quoted_text(Span token) {
  std::uint32_t begin = token.begin + (token.text().front() == 'f' ? 1 : 0);
  const std::string_view text = token.file->text().substr(begin, token.end - begin);
  const bool triple = text.size() >= 6 && text[0] == text[1] && text[1] == text[2];
  const std::uint32_t quotes = triple ? 3 : 1;
  return {{token.file, begin + quotes, token.end - quotes}, triple};
}

}  // namespace kiln::lang

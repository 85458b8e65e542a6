#include "interpreter/text/format.h"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "interpreter/interpreter.h"
#include "interpreter/text/print_tensor.h"
#include "interpreter/values/complex_number.h"
#include "interpreter/values/natives.h"
#include "interpreter/values/utf8.h"

namespace kiln::interp {
namespace {

constexpr std::int64_t kMaxCount = 1'000'000;  // of columns or digits: more is a mistake, not a wish

[[noreturn]] void bad_spec(std::string_view spec, std::string_view why) {
  raise("ValueError", fmt::format("invalid format '{}': {}", spec, why),
        "the form is [[fill]align][sign][#][0][width][,][.precision][type]");
}

class SpecParser {
 public:
  explicit SpecParser(std::string_view text) : text_(text) {}

  FormatSpec run() {
    const bool has_fill = fill_and_align();
    if (at_ < text_.size() && (peek() == '+' || peek() == '-' || peek() == ' ')) spec_.sign = text_[at_++];
    spec_.no_negative_zero = take('z');
    spec_.alternate = take('#');
    if (take('0') && !has_fill) {
      spec_.fill = "0";
      if (spec_.align == 0) spec_.align = '=';
    }
    spec_.width = std::max<std::int64_t>(number("width"), 0);
    if (at_ < text_.size() && (peek() == ',' || peek() == '_')) spec_.grouping = text_[at_++];
    if (take('.')) {
      spec_.precision = number("precision");
      if (spec_.precision < 0) bad_spec(text_, "a '.' needs a precision");
    }
    if (at_ < text_.size()) spec_.type = text_[at_++];
    if (at_ < text_.size()) bad_spec(text_, fmt::format("'{}' follows the type", text_.substr(at_)));
    return spec_;
  }

 private:
  static bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }
  char peek() const { return text_[at_]; }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  // Is there a fill?
  bool fill_and_align() {
    if (text_.empty()) return false;
    const std::size_t first = code_point_bytes(text_, 0);
    if (first < text_.size() && is_align(text_[first])) {
      spec_.fill = std::string(text_.substr(0, first));
      spec_.align = text_[first];
      at_ = first + 1;
      return true;
    }
    if (is_align(text_[0])) spec_.align = text_[at_++];
    return false;
  }

  std::int64_t number(std::string_view what) {
    std::int64_t value = -1;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      value = std::max<std::int64_t>(value, 0) * 10 + (text_[at_] - '0');
      if (value > kMaxCount) bad_spec(text_, fmt::format("the {} is more than a million", what));
    }
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  FormatSpec spec_;
};

std::string repeated(std::string_view unit, std::int64_t count) {
  std::string text;
  for (; count > 0; --count) text += unit;
  return text;
}

// `prefix` (sign, 0x) stays left of the padding when the alignment is '='.
std::string aligned(std::string_view prefix, std::string_view body, const FormatSpec& spec,
                    char default_align) {
  const std::int64_t missing = spec.width - code_point_count(prefix) - code_point_count(body);
  const auto joined = [&](std::int64_t left, std::int64_t right) {
    return fmt::format("{}{}{}{}", repeated(spec.fill, left), prefix, body, repeated(spec.fill, right));
  };
  if (missing <= 0) return joined(0, 0);
  switch (spec.align ? spec.align : default_align) {
    case '<':
      return joined(0, missing);
    case '^':
      return joined(missing / 2, missing - missing / 2);
    case '=':
      return fmt::format("{}{}{}", prefix, repeated(spec.fill, missing), body);
    default:
      return joined(missing, 0);
  }
}

// Separators between groups of digits; zeros are added in front until the text has `min_width` columns.
std::string grouped(std::string_view digits, char separator, std::size_t group, std::int64_t min_width) {
  std::string padded(digits);
  const auto columns = [&] {
    return static_cast<std::int64_t>(padded.size() + (separator ? (padded.size() - 1) / group : 0));
  };
  while (columns() < min_width) padded.insert(padded.begin(), '0');
  if (!separator) return padded;
  std::string text;
  for (std::size_t i = 0; i < padded.size(); ++i) {
    if (i > 0 && (padded.size() - i) % group == 0) text += separator;
    text += padded[i];
  }
  return text;
}

std::string sign_text(bool negative, char sign) {
  if (negative) return "-";
  return sign == '-' ? "" : std::string(1, sign);
}

// Puts sign, integer digits and the rest together under the spec.
std::string number_text(const std::string& prefix, std::string_view digits, std::string_view rest,
                        const FormatSpec& spec, std::size_t group) {
  const bool zeros = spec.align == '=' && spec.fill == "0";
  const std::int64_t room = zeros ? spec.width - static_cast<std::int64_t>(prefix.size() + rest.size()) : 0;
  return aligned(prefix, grouped(digits, spec.grouping, group, room) + std::string(rest), spec, '>');
}

struct Decimal {
  std::string digits;  // without leading zeros but for zero itself
  int point = 0;       // the value is 0.digits * 10^point
};

// `count` significant digits, rounded to even; the shortest that read back when count < 0.
Decimal decimal(double value, std::int64_t count) {
  std::string buffer(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)) + 40, '\0');
  char* const end = buffer.data() + buffer.size();
  const auto done = count < 0 ? std::to_chars(buffer.data(), end, value, std::chars_format::scientific)
                              : std::to_chars(buffer.data(), end, value, std::chars_format::scientific,
                                              static_cast<int>(count - 1));
  const std::string_view text(buffer.data(), static_cast<std::size_t>(done.ptr - buffer.data()));
  const std::size_t e = text.find('e');
  Decimal result;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), done.ptr, result.point);
  ++result.point;
  for (const char c : text.substr(0, e)) {
    if (c != '.') result.digits += c;
  }
  return result;
}

struct FloatParts {
  std::string whole;  // digits before the point
  std::string rest;   // point, decimals, exponent
};

FloatParts fixed_parts(double value, std::int64_t precision, bool keep_point) {
  std::string buffer(static_cast<std::size_t>(precision) + 340, '\0');
  const auto done = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                  std::chars_format::fixed, static_cast<int>(precision));
  const std::string text(buffer.data(), done.ptr);
  const std::size_t point = text.find('.');
  if (point == std::string::npos) return {text, keep_point ? "." : ""};
  return {text.substr(0, point), text.substr(point)};
}

FloatParts exponent_parts(std::string_view digits, int exponent, bool keep_point) {
  std::string rest(digits.size() > 1 || keep_point ? "." : "");
  rest += digits.substr(1);
  rest += fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  return {std::string(digits.substr(0, 1)), rest};
}

// The `g` layout: positional while the exponent is in [-4, limit), trailing zeros dropped unless `#`.
FloatParts general_parts(double value, std::int64_t precision, const FormatSpec& spec, bool add_point) {
  const bool is_shortest = precision < 0;
  if (precision == 0) precision = 1;
  Decimal d = decimal(value, precision);
  if (!spec.alternate) {
    while (d.digits.size() > 1 && d.digits.back() == '0') d.digits.pop_back();
  }
  const std::int64_t limit = is_shortest ? 16 : precision - (add_point ? 1 : 0);
  if (d.point <= -4 || d.point > limit) return exponent_parts(d.digits, d.point - 1, spec.alternate);
  if (d.point <= 0) return {"0", "." + std::string(static_cast<std::size_t>(-d.point), '0') + d.digits};
  const auto point = static_cast<std::size_t>(d.point);
  if (d.digits.size() <= point) {
    const std::string tail = add_point ? ".0" : spec.alternate ? "." : "";
    return {d.digits + std::string(point - d.digits.size(), '0'), tail};
  }
  return {d.digits.substr(0, point), "." + d.digits.substr(point)};
}

FloatParts float_parts(double value, const FormatSpec& spec) {
  const std::int64_t precision = spec.precision < 0 ? 6 : spec.precision;
  switch (spec.type) {
    case 'e':
    case 'E': {
      const Decimal d = decimal(value, precision + 1);
      return exponent_parts(d.digits, d.point - 1, spec.alternate);
    }
    case 'f':
    case 'F':
      return fixed_parts(value, precision, spec.alternate);
    case '%': {
      FloatParts parts = fixed_parts(value, precision, spec.alternate);
      parts.rest += '%';
      return parts;
    }
    case 0:
      return general_parts(value, spec.precision, spec, true);
    default:
      return general_parts(value, precision, spec, false);
  }
}

std::string uppercase(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

bool all_zero(const FloatParts& parts) {
  for (const char c : parts.whole + parts.rest) {
    if (c == 'e') return true;
    if (c >= '1' && c <= '9') return false;
  }
  return true;
}

[[noreturn]] void unknown_type(char type, std::string_view value) {
  raise("ValueError", fmt::format("format type '{}' does not fit a value of type {}", type, value));
}

constexpr std::string_view kFloatTypes = "eEfFgGn%";

}  // namespace

FormatSpec FormatSpec::parse(std::string_view text) { return SpecParser(text).run(); }

std::string format_text(std::string_view text, const FormatSpec& spec) {
  if (spec.type != 0 && spec.type != 's') unknown_type(spec.type, "str");
  if (spec.sign != '-') raise("ValueError", "a sign is not allowed in the format of a str");
  if (spec.align == '=' && spec.fill != "0")
    raise("ValueError", "alignment '=' is not allowed in the format of a str");
  if (spec.grouping)
    raise("ValueError", fmt::format("'{}' is not allowed in the format of a str", spec.grouping));
  if (spec.precision >= 0) text = text.substr(0, code_point_offset(text, spec.precision));
  FormatSpec own = spec;
  if (own.align == '=') own.align = '<';
  return aligned("", text, own, '<');
}

std::string format_int(std::int64_t value, const FormatSpec& spec) {
  if (kFloatTypes.find(spec.type) != std::string_view::npos && spec.type != 'n' && spec.type != 0) {
    return format_float(static_cast<double>(value), spec);
  }
  if (spec.precision >= 0) raise("ValueError", "a precision is not allowed in the format of an int");
  if (spec.type == 'c') {
    if (value < 0 || value > 0x10ffff) raise("OverflowError", fmt::format("{} is not a code point", value));
    std::string text;
    append_code_point(text, static_cast<char32_t>(value));
    return aligned("", text, spec, '<');
  }
  const std::uint64_t magnitude =
      value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  std::string prefix = sign_text(value < 0, spec.sign);
  std::string digits;
  std::string base;
  switch (spec.type) {
    case 0:
    case 'd':
    case 'n':
      digits = fmt::format("{}", magnitude);
      break;
    case 'b':
      digits = fmt::format("{:b}", magnitude), base = "0b";
      break;
    case 'o':
      digits = fmt::format("{:o}", magnitude), base = "0o";
      break;
    case 'x':
      digits = fmt::format("{:x}", magnitude), base = "0x";
      break;
    case 'X':
      digits = fmt::format("{:X}", magnitude), base = "0X";
      break;
    default:
      unknown_type(spec.type, "int");
  }
  if (!base.empty() && spec.grouping == ',') {
    raise("ValueError", fmt::format("',' is not allowed with format type '{}'", spec.type), "use '_'");
  }
  if (spec.alternate) prefix += base;
  return number_text(prefix, digits, "", spec, base.empty() ? 3 : 4);
}

std::string format_float(double value, const FormatSpec& spec) {
  if (spec.type != 0 && kFloatTypes.find(spec.type) == std::string_view::npos)
    unknown_type(spec.type, "float");
  const bool upper = spec.type == 'E' || spec.type == 'F' || spec.type == 'G';
  if (spec.type == '%') value *= 100;
  if (!std::isfinite(value)) {
    const std::string text = std::isnan(value) ? "nan" : "inf";
    FormatSpec own = spec;
    const std::string body = (upper ? uppercase(text) : text) + (spec.type == '%' ? "%" : "");
    return aligned(sign_text(value < 0, spec.sign), body, own, '>');
  }
  const FloatParts parts = float_parts(std::fabs(value), spec);
  const bool negative = std::signbit(value) && !(spec.no_negative_zero && all_zero(parts));
  const std::string rest = upper ? uppercase(parts.rest) : parts.rest;
  return number_text(sign_text(negative, spec.sign), parts.whole, rest, spec, 3);
}

std::string format_value(Interpreter& interpreter, const Value& value, std::string_view text) {
  if (value.is(Tag::Tensor) && value.as_tensor().rank() == 0) {
    if (text.empty()) return str_of(interpreter, value);
    return format_value(interpreter, item_of(value.as_tensor()), text);
  }
  if (text.empty()) return line_of(interpreter, value);
  const FormatSpec spec = FormatSpec::parse(text);
  switch (value.tag()) {
    case Tag::Int:
    case Tag::Bool:
      return format_int(value.as_int(), spec);
    case Tag::Float:
      return format_float(value.as_float(), spec);
    case Tag::Complex:
      return format_complex(complex_of(value), spec);
    case Tag::Str:
      return format_text(value.as<Str>().text, spec);
    case Tag::Tensor:
      if (value.as_tensor().numel() == 1) return format_value(interpreter, item_of(value.as_tensor()), text);
      [[fallthrough]];
    default:
      break;
  }
  if (spec.type != 0 && spec.type != 's') {
    raise("TypeError", fmt::format("format '{}' is for a number, got {}", text, describe(value)));
  }
  return format_text(line_of(interpreter, value), spec);
}

}  // namespace kiln::interp

// Methods of text about letters: case, classes, padding. Case follows simple mappings of the common
// alphabets.
#include <functional>
#include <string>

#include <fmt/format.h>

#include "interpreter/host/str_parts.h"
#include "interpreter/values/utf8.h"
#include "interpreter/vm/arguments.h"
#include "tensor/interrupt.h"

namespace kiln::interp {
namespace {

using namespace host;

// Ranges of letters whose lower case is at a fixed distance, or alternates with the upper (step 2).
struct CaseRange {
  char32_t first, last;  // upper case
  int to_lower;          // 1: pairs of neighbours, the first of each upper
};
constexpr CaseRange kCaseRanges[] = {
    {'A', 'Z', 32},     {0xc0, 0xd6, 32},    {0xd8, 0xde, 32},    {0x100, 0x12e, 1},    {0x132, 0x136, 1},
    {0x139, 0x147, 1},  {0x14a, 0x176, 1},   {0x179, 0x17d, 1},   {0x391, 0x3a1, 32},   {0x3a3, 0x3ab, 32},
    {0x410, 0x42f, 32}, {0x400, 0x40f, 80},  {0x460, 0x480, 1},   {0x48a, 0x4be, 1},    {0x4d0, 0x52e, 1},
    {0x531, 0x556, 48}, {0x1e00, 0x1e94, 1}, {0x1ea0, 0x1efe, 1}, {0xff21, 0xff3a, 32},
};

char32_t lower_of(char32_t c) {
  for (const CaseRange& r : kCaseRanges) {
    if (c < r.first || c > r.last) continue;
    if (r.to_lower != 1) return c + static_cast<char32_t>(r.to_lower);
    return (c - r.first) % 2 == 0 ? c + 1 : c;
  }
  return c == 0x178 ? 0xff : c;
}

char32_t upper_of(char32_t c) {
  for (const CaseRange& r : kCaseRanges) {
    const auto shift = static_cast<char32_t>(r.to_lower);
    if (c < r.first + shift || c > r.last + shift) continue;
    if (shift != 1) return c - shift;
    if ((c - r.first) % 2 == 1) return c - 1;
  }
  if (c == 0x3c2) return 0x3a3;
  return c == 0xff ? 0x178 : c;
}

bool is_upper(char32_t c) { return lower_of(c) != c; }
bool is_lower(char32_t c) { return upper_of(c) != c || c == 0xdf; }
bool is_digit(char32_t c) {
  return (c >= '0' && c <= '9') || (c >= 0x660 && c <= 0x669) || (c >= 0xff10 && c <= 0xff19);
}
// Every script's letters are past Latin-1; symbols, punctuation and digits there are not.
bool is_alpha(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  if (c < 0xc0) return c == 0xaa || c == 0xb5 || c == 0xba;
  if (c < 0x250) return c != 0xd7 && c != 0xf7;
  if (is_digit(c) || is_space(c) || c == 0xfffd) return false;
  const bool symbols = (c >= 0x2000 && c <= 0x2bff) || (c >= 0x3000 && c <= 0x303f) || c >= 0x1f000 ||
                       (c >= 0x300 && c <= 0x36f) || (c >= 0xe000 && c <= 0xf8ff);
  return !symbols;
}

// Applies f(code point, is it the first of a word, is it the first of the text).
Value mapped(std::span<Value> arguments, char32_t (*f)(char32_t c, bool word_start, bool text_start)) {
  const std::string_view text = text_of_self(arguments);
  std::string result;
  result.reserve(text.size());
  bool in_word = false;
  for (std::size_t at = 0; at < text.size();) {
    check_interrupt();
    const std::size_t bytes = code_point_bytes(text, at);
    const char32_t c = code_point_at(text, at);
    if (c == 0xfffd) {
      result.append(text, at, bytes);
    } else if (c == 0xdf && f('a', !in_word, at == 0) == 'A') {
      result += f('b', false, false) == 'B' ? "SS" : "Ss";
    } else {
      append_code_point(result, f(c, !in_word, at == 0));
    }
    in_word = is_alpha(c);
    at += bytes;
  }
  return make<Str>(std::move(result));
}

Value upper(Interpreter&, std::span<Value> a) {
  return mapped(a, [](char32_t c, bool, bool) { return upper_of(c); });
}
Value lower(Interpreter&, std::span<Value> a) {
  return mapped(a, [](char32_t c, bool, bool) { return lower_of(c); });
}
Value title(Interpreter&, std::span<Value> a) {
  return mapped(a, [](char32_t c, bool first, bool) { return first ? upper_of(c) : lower_of(c); });
}
Value capitalize(Interpreter&, std::span<Value> a) {
  return mapped(a, [](char32_t c, bool, bool first) { return first ? upper_of(c) : lower_of(c); });
}
Value swapcase(Interpreter&, std::span<Value> a) {
  return mapped(a, [](char32_t c, bool, bool) { return is_upper(c) ? lower_of(c) : upper_of(c); });
}

// True when there is a code point and every one is of the class.
template <bool (*Is)(char32_t)>
Value every(Interpreter&, std::span<Value> arguments) {
  const std::string_view text = text_of_self(arguments);
  for (std::size_t at = 0; at < text.size(); at += code_point_bytes(text, at)) {
    check_interrupt();
    if (!Is(code_point_at(text, at))) return false;
  }
  return !text.empty();
}

bool is_alnum(char32_t c) { return is_alpha(c) || is_digit(c); }

// True when a letter is of the case and none is of the other.
template <bool (*Is)(char32_t), bool (*Other)(char32_t)>
Value cased(Interpreter&, std::span<Value> arguments) {
  const std::string_view text = text_of_self(arguments);
  bool found = false;
  for (std::size_t at = 0; at < text.size(); at += code_point_bytes(text, at)) {
    check_interrupt();
    const char32_t c = code_point_at(text, at);
    if (Other(c)) return false;
    found = found || Is(c);
  }
  return found;
}

enum class Side { Left, Right, Both };

// Text and padding; `side` says where the text stands.
template <Side S>
Value padded(Interpreter&, std::span<Value> arguments) {
  const std::string& text = text_of_self(arguments);
  const std::int64_t width = int_argument(arguments[1], "width");
  const std::string& fill = text_argument(arguments[2], "fill");
  if (code_point_count(fill) != 1) raise("TypeError", "the fill must be one character");
  const std::int64_t missing = width - static_cast<std::int64_t>(arguments[0].as<Str>().length());
  if (missing <= 0) return arguments[0];
  if (missing > 100'000'000) raise("ValueError", fmt::format("a width of {} is too large", width));
  // Python's choice of the side that gets the odd one.
  const std::int64_t half = missing / 2 + (missing & width & 1);
  const std::int64_t left = S == Side::Left ? 0 : S == Side::Right ? missing : half;
  std::string result;
  const auto pad = [&](std::int64_t times) {
    in_pieces(static_cast<std::size_t>(times), kPieceOfValues, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) result += fill;
    });
  };
  pad(left);
  result += text;
  pad(missing - left);
  return make<Str>(std::move(result));
}

Value zfill(Interpreter&, std::span<Value> arguments) {
  const std::string& text = text_of_self(arguments);
  const std::int64_t missing = int_argument(arguments[1], "width") - code_point_count(text);
  if (missing <= 0) return arguments[0];
  if (missing > 100'000'000) raise("ValueError", "zfill: the width is too large");
  const std::size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  return Value(text.substr(0, sign) + std::string(static_cast<std::size_t>(missing), '0') +
               text.substr(sign));
}

constexpr NativeDef kStrCaseMethodsMethods[] = {
    {"upper(self) -> str", "In capital letters.\n>>> \"é\".upper()\n'É'", upper},
    {"lower(self) -> str", "In small letters.", lower},
    {"title(self) -> str", "Each word with a capital first letter.\n>>> \"two words\".title()\n'Two Words'",
     title},
    {"capitalize(self) -> str", "The first letter capital, the others small.", capitalize},
    {"swapcase(self) -> str", "Capital letters made small and small ones capital.", swapcase},
    {"isdigit(self) -> bool", "Whether all characters are digits, and there is one.", every<is_digit>},
    {"isalpha(self) -> bool", "Whether all characters are letters, and there is one.", every<is_alpha>},
    {"isalnum(self) -> bool", "Whether all characters are letters or digits, and there is one.",
     every<is_alnum>},
    {"isspace(self) -> bool", "Whether all characters are white space, and there is one.", every<is_space>},
    {"isupper(self) -> bool", "Whether the letters are capital, and there is one.",
     cased<is_upper, is_lower>},
    {"islower(self) -> bool", "Whether the letters are small, and there is one.", cased<is_lower, is_upper>},
    {"ljust(self, width, fill=\" \") -> str", "Padded on the right to a width.", padded<Side::Left>},
    {"rjust(self, width, fill=\" \") -> str", "Padded on the left to a width.", padded<Side::Right>},
    {"center(self, width, fill=\" \") -> str", "Padded on both sides to a width.", padded<Side::Both>},
    {"zfill(self, width) -> str", "Padded with zeros after the sign.\n>>> \"-7\".zfill(4)\n'-007'", zfill},
};

}  // namespace

std::span<const NativeDef> host::str_case_methods() { return kStrCaseMethodsMethods; }

}  // namespace kiln::interp

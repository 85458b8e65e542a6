#include "lang/names.h"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "lang/utf8.h"

namespace kiln::lang {
namespace {

bool is_subscript_digit(std::uint32_t code_point) { return code_point >= 0x2080 && code_point <= 0x2089; }

// XID_Continue without the few characters that Unicode lists one by one.
bool continues(std::uint32_t code_point) {
  const auto point = static_cast<utf8proc_int32_t>(code_point);
  if (utf8proc_get_property(point)->ignorable) return false;
  switch (utf8proc_category(point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return point == 0xB7;  // the middle dot of Catalan
  }
}

// A code point as NFKC takes it apart; marks are put in order later.
void take_apart(std::uint32_t code_point, std::vector<utf8proc_int32_t>& out) {
  constexpr std::size_t kLongest = 18;  // of all decompositions
  if (is_subscript_digit(code_point)) {
    out.push_back(static_cast<utf8proc_int32_t>(code_point));
    return;
  }
  utf8proc_int32_t parts[kLongest];
  int boundary = 0;
  const auto count = utf8proc_decompose_char(
      static_cast<utf8proc_int32_t>(code_point), parts, kLongest,
      static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT), &boundary);
  out.insert(out.end(), parts, parts + count);
}

// Marks that follow a letter, by their classes; those of one class keep their order.
void order_marks(std::vector<utf8proc_int32_t>& points) {
  const auto rank = [](utf8proc_int32_t point) { return utf8proc_get_property(point)->combining_class; };
  for (auto at = points.begin(); at != points.end();) {
    const auto first = std::find_if(at, points.end(), [&](auto point) { return rank(point) != 0; });
    at = std::find_if(first, points.end(), [&](auto point) { return rank(point) == 0; });
    std::stable_sort(first, at, [&](auto a, auto b) { return rank(a) < rank(b); });
  }
}

}  // namespace

bool is_name_code_point(std::uint32_t code_point) {
  if (is_subscript_digit(code_point)) return true;
  if (code_point < 0x80 || !continues(code_point)) return false;
  // Some letters are a space and a mark in NFKC.
  std::vector<utf8proc_int32_t> parts;
  take_apart(code_point, parts);
  return std::all_of(parts.begin(), parts.end(), [](utf8proc_int32_t part) {
    return part == '_' || continues(static_cast<std::uint32_t>(part));
  });
}

bool begins_name(std::uint32_t code_point) {
  if (!is_name_code_point(code_point) || is_subscript_digit(code_point)) return false;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code_point))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PO:
      return false;
    default:
      return true;
  }
}

std::string normalized_name(std::string_view spelling) {
  if (is_ascii(spelling)) return std::string(spelling);
  std::vector<utf8proc_int32_t> points;
  for (std::size_t at = 0; at < spelling.size();) {
    const CodePoint point = decode_utf8(spelling, at);
    if (point.value == kBadCodePoint) return std::string(spelling);
    take_apart(point.value, points);
    at += point.length;
  }
  order_marks(points);
  const auto count =
      utf8proc_normalize_utf32(points.data(), static_cast<utf8proc_ssize_t>(points.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  std::string name;
  for (utf8proc_ssize_t i = 0; i < count; ++i)
    append_utf8(name, static_cast<std::uint32_t>(points[static_cast<std::size_t>(i)]));
  return name;
}

}  // namespace kiln::lang

#include "lang/utf8.h"

#include <algorithm>
#include <iterator>

namespace kiln::lang {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

template <std::size_t N>
bool contains(const Range (&ranges)[N], std::uint32_t code_point) {
  const Range* found = std::upper_bound(std::begin(ranges), std::end(ranges), code_point,
                                        [](std::uint32_t value, const Range& r) { return value < r.first; });
  return found != std::begin(ranges) && code_point <= std::prev(found)->last;
}

// Combining marks and characters of no width that occur in practice.
constexpr Range kZeroWidth[] = {
    {0x0300, 0x036F},   {0x0483, 0x0489},   {0x0591, 0x05BD}, {0x0610, 0x061A}, {0x064B, 0x065F},
    {0x093C, 0x093C},   {0x0941, 0x0948},   {0x094D, 0x094D}, {0x0E31, 0x0E31}, {0x0E34, 0x0E3A},
    {0x0E47, 0x0E4E},   {0x1AB0, 0x1AFF},   {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x202A, 0x202E},
    {0x2060, 0x2064},   {0x20D0, 0x20F0},   {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF},
    {0x1F3FB, 0x1F3FF}, {0xE0100, 0xE01EF},
};

// East Asian Wide and Fullwidth, and emoji that terminals draw in two columns.
constexpr Range kWide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},   {0x25FD, 0x25FE},
    {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26A1, 0x26A1},   {0x26BD, 0x26BE},   {0x2705, 0x2705},
    {0x270A, 0x270B},   {0x2728, 0x2728},   {0x274C, 0x274C},   {0x2753, 0x2755},   {0x2795, 0x2797},
    {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
    {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
    {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x18AFF}, {0x1B000, 0x1B2FF},
    {0x1F004, 0x1F004}, {0x1F18E, 0x1F19A}, {0x1F200, 0x1F320}, {0x1F32D, 0x1F3F0}, {0x1F400, 0x1F64F},
    {0x1F680, 0x1F6FC}, {0x1F7E0, 0x1F7EB}, {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD},
};

}  // namespace

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

CodePoint decode_utf8(std::string_view text, std::size_t offset) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[offset + i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::uint32_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || offset + length > text.size()) return {};
  std::uint32_t value = lead & (0x7Fu >> length);
  for (std::uint32_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest[length] || value > 0x10FFFF || surrogate) return {};
  return {value, length};
}

void append_utf8(std::string& out, std::uint32_t code_point) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (code_point >> shift & 0x3F)); };
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xC0 | code_point >> 6);
    tail(0);
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xE0 | code_point >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | code_point >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      ++i;
      continue;
    }
    const CodePoint point = decode_utf8(text, i);
    if (point.value == kBadCodePoint) return i;
    i += point.length;
  }
  return std::string_view::npos;
}

int display_width(std::uint32_t code_point) {
  if (code_point < 0x300) return 1;
  if (contains(kZeroWidth, code_point)) return 0;
  return contains(kWide, code_point) ? 2 : 1;
}

std::string code_point_name(std::uint32_t code_point) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string name = "U+";
  for (int shift = code_point > 0xFFFF ? 20 : 12; shift >= 0; shift -= 4) {
    const bool leading = shift == 20 && code_point < 0x100000;
    if (!leading) name += kDigits[code_point >> shift & 15];
  }
  return name;
}

}  // namespace kiln::lang

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

// Punctuation, symbols, separators and private use: what a name may not hold.
constexpr Range kNotInNames[] = {
    {0x0080, 0x00A9},   {0x00AB, 0x00B4},    {0x00B6, 0x00B6}, {0x00B8, 0x00B9}, {0x00BB, 0x00BF},
    {0x00D7, 0x00D7},   {0x00F7, 0x00F7},    {0x037E, 0x037E}, {0x0387, 0x0387}, {0x055A, 0x055F},
    {0x0589, 0x058F},   {0x060C, 0x060D},    {0x061B, 0x061F}, {0x066A, 0x066D}, {0x1680, 0x1680},
    {0x2000, 0x2079},   {0x207A, 0x207E},    {0x208A, 0x208E}, {0x20A0, 0x20CF}, {0x2190, 0x2BFF},
    {0x2E00, 0x2E7F},   {0x3000, 0x3004},    {0x3008, 0x3020}, {0x3030, 0x3030}, {0xD800, 0xF8FF},
    {0xFD3E, 0xFD3F},   {0xFE00, 0xFE1F},    {0xFE30, 0xFE6F}, {0xFEFF, 0xFEFF}, {0xFF01, 0xFF0F},
    {0xFF1A, 0xFF20},   {0xFF3B, 0xFF40},    {0xFF5B, 0xFF65}, {0xFFE0, 0xFFFF}, {0x1F000, 0x1FBFF},
    {0xE0000, 0xE0FFF}, {0xF0000, 0x10FFFF},
};

}  // namespace

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

bool is_name_code_point(std::uint32_t code_point) {
  return code_point >= 0x80 && !contains(kNotInNames, code_point);
}

}  // namespace kiln::lang

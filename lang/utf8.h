// Owns the reading of UTF-8: code points, validity, and how wide characters are on a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kiln::lang {

inline constexpr std::uint32_t kBadCodePoint = 0xFFFFFFFF;

struct CodePoint {
  std::uint32_t value = kBadCodePoint;
  std::uint32_t length = 1;  // bytes; 1 when the bytes are not UTF-8
};

bool is_ascii(std::string_view text);
// The code point that begins at `offset`, which must lie inside the text.
CodePoint decode_utf8(std::string_view text, std::size_t offset);
void append_utf8(std::string& out, std::uint32_t code_point);
// The first byte that is not part of valid UTF-8, or npos.
std::size_t find_invalid_utf8(std::string_view text);
// Terminal columns of a code point: 0 for combining marks, 2 for wide East Asian characters and emoji,
// else 1.
int display_width(std::uint32_t code_point);
// "U+200B".
std::string code_point_name(std::uint32_t code_point);

}  // namespace kiln::lang

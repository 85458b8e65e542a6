// Owns the reading of strings by code points: lengths, positions, encoding. Invalid bytes count as one each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kiln::interp {

// Bytes of the code point that starts at `at`: 1 to 4; 1 for a byte that starts none.
inline std::size_t code_point_bytes(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  std::size_t bytes = 1;
  if (lead >= 0xf0 && lead < 0xf8) {
    bytes = 4;
  } else if (lead >= 0xe0) {
    bytes = lead < 0xf0 ? 3 : 1;
  } else if (lead >= 0xc2) {
    bytes = 2;
  }
  if (at + bytes > text.size()) return 1;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((static_cast<unsigned char>(text[at + i]) & 0xc0U) != 0x80U) return 1;
  }
  return bytes;
}

inline bool is_ascii(std::string_view text) {
  unsigned char all = 0;
  for (const char c : text) all |= static_cast<unsigned char>(c);
  return all < 0x80;
}

// Number of code points.
inline std::int64_t code_point_count(std::string_view text) {
  std::int64_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += code_point_bytes(text, at)) ++count;
  return count;
}

// Byte position of the `index`-th code point; the size of the text when there are no more than `index`.
inline std::size_t code_point_offset(std::string_view text, std::int64_t index) {
  std::size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at += code_point_bytes(text, at);
  return at;
}

// The code point at byte `at`; U+FFFD for an invalid byte.
inline char32_t code_point_at(std::string_view text, std::size_t at) {
  const std::size_t bytes = code_point_bytes(text, at);
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
  };
  switch (bytes) {
    case 2:
      return ((byte(0) & 0x1fU) << 6) | (byte(1) & 0x3fU);
    case 3:
      return ((byte(0) & 0x0fU) << 12) | ((byte(1) & 0x3fU) << 6) | (byte(2) & 0x3fU);
    case 4:
      return ((byte(0) & 0x07U) << 18) | ((byte(1) & 0x3fU) << 12) | ((byte(2) & 0x3fU) << 6) |
             (byte(3) & 0x3fU);
    default:
      return byte(0) < 0x80 ? byte(0) : char32_t{0xfffd};
  }
}

inline void append_code_point(std::string& text, char32_t c) {
  const auto put = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0U | (c >> 6));
    put(0x80U | (c & 0x3fU));
  } else if (c < 0x10000) {
    put(0xe0U | (c >> 12));
    put(0x80U | ((c >> 6) & 0x3fU));
    put(0x80U | (c & 0x3fU));
  } else {
    put(0xf0U | (c >> 18));
    put(0x80U | ((c >> 12) & 0x3fU));
    put(0x80U | ((c >> 6) & 0x3fU));
    put(0x80U | (c & 0x3fU));
  }
}

}  // namespace kiln::interp

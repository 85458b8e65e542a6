// Owns copies of runs of bytes that may lie anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace kiln::cpu {

inline constexpr std::int64_t kCopiedLine = 64;

inline void copy_line(std::byte* to, const std::byte* from) {
  using Vector = std::uint64_t __attribute__((vector_size(16)));
  Vector line[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&line[i], from + 16 * i, sizeof(Vector));
  for (int i = 0; i < 4; ++i) std::memcpy(to + 16 * i, &line[i], sizeof(Vector));
  asm volatile("");  // or the compiler makes a memcpy of a loop of these
}

// memcpy, but for long runs of which one begins at another place of its line. The C library leaves those to
// an instruction that on Zen 3 goes byte by byte where the two places are less than a line apart in their
// pages. Of no bytes (an empty tensor), either may be null.
inline void copy_bytes(void* to, const void* from, std::int64_t bytes) {
  if (bytes == 0) return;  // memcpy must be given no null pointer
  constexpr std::int64_t kLong = 2048;
  const auto apart = reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from);
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  if (bytes >= kLong && apart % kCopiedLine != 0)
    for (; bytes >= kCopiedLine; bytes -= kCopiedLine, target += kCopiedLine, source += kCopiedLine)
      copy_line(target, source);
  std::memcpy(target, source, static_cast<std::size_t>(bytes));
}

}  // namespace kiln::cpu

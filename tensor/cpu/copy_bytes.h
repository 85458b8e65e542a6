// Owns copies of runs of bytes that may lie anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace kiln::cpu {

// memcpy, but for long runs of which one begins at another place of its line. The C library leaves those to
// an instruction that on Zen 3 goes byte by byte where the two places are less than a line apart in their
// pages. Of no bytes (an empty tensor), either may be null.
inline void copy_bytes(void* to, const void* from, std::int64_t bytes) {
  if (bytes == 0) return;  // memcpy must be given no null pointer
  using Vector = std::uint64_t __attribute__((vector_size(16)));
  constexpr std::int64_t kLine = 64, kLong = 2048;
  const auto apart = reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from);
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  if (bytes >= kLong && apart % kLine != 0) {
    for (; bytes >= kLine; bytes -= kLine, target += kLine, source += kLine) {
      Vector line[4];
      for (int i = 0; i < 4; ++i) std::memcpy(&line[i], source + 16 * i, sizeof(Vector));
      for (int i = 0; i < 4; ++i) std::memcpy(target + 16 * i, &line[i], sizeof(Vector));
      asm volatile("");  // or the compiler makes a memcpy of the loop
    }
  }
  std::memcpy(target, source, static_cast<std::size_t>(bytes));
}

}  // namespace kiln::cpu

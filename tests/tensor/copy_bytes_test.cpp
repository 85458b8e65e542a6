// Copies of runs of bytes, at all places of a line and lengths around the border between the two ways.
#include "tensor/cpu/elementwise/copy_bytes.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

namespace kiln::copy_bytes_test {

using kiln::cpu::copy_bytes;

TEST_CASE("runs of bytes are copied from any place to any place, and nothing beside them", "[copy]") {
  constexpr std::uint8_t kBeside = 0xEE;
  for (const std::size_t bytes : {0, 1, 63, 2047, 2048, 2049, 2111, 2112, 5000}) {
    for (std::size_t from = 0; from < 70; from += 3) {
      for (std::size_t to = 0; to < 70; to += 5) {
        std::vector<std::uint8_t> source(from + bytes);
        for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint8_t>(i * 7 % 251);
        std::vector<std::uint8_t> expected(to + bytes + 70, kBeside), target(expected);
        std::copy(source.begin() + static_cast<std::ptrdiff_t>(from), source.end(),
                  expected.begin() + static_cast<std::ptrdiff_t>(to));
        copy_bytes(target.data() + to, source.data() + from, static_cast<std::int64_t>(bytes));
        CAPTURE(bytes, from, to);
        REQUIRE(target == expected);
      }
    }
  }
}

}  // namespace kiln::copy_bytes_test

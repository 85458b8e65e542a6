// Owns where the code points of a text stand, so that the i-th is found without reading all before it.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace kiln::interp {

// The bytes at which every 64th code point begins, as far as the text was read. Text of ASCII alone needs
// none.
class CodePoints {
 public:
  std::size_t count(std::string_view text);
  // Where code point `index` begins; the size of the text for the one behind the last.
  std::size_t byte_of(std::string_view text, std::size_t index);
  // Which code point begins at `byte`.
  std::size_t index_of(std::string_view text, std::size_t byte);
  // More is going to follow these bytes, of which the last may begin a code point.
  void expect_more(std::size_t bytes);

 private:
  static constexpr std::size_t kRun = 64;
  void read(std::string_view text);

  std::vector<std::size_t> starts_;  // of the code points 0, 64, 128, …
  std::size_t bytes_ = 0;            // read so far
  std::size_t points_ = 0;           // found in these
};

// As std::string_view::find, in time that grows with the text alone, also where text and `sub` repeat one
// letter. Both throw OpError (Interrupted).
std::size_t find_text(std::string_view text, std::string_view sub, std::size_t from = 0);
// As std::string_view::rfind.
std::size_t find_last_text(std::string_view text, std::string_view sub);

}  // namespace kiln::interp

// Owns reading the text of graphs piece by piece: tokens, and the error that says where and what.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/error.h"

namespace kiln::jit {

// Whether a byte is part of a name: of a letter, of a digit, `_`; every byte of a character beyond ASCII is.
inline bool is_word_byte(char byte) {
  const auto c = static_cast<unsigned char>(byte);
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c >= 0x80;
}

class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

  // Throws OpError (Syntax): "graph text, line 3, column 8: expected ':', found '='". Columns count
  // characters.
  [[noreturn]] void fail_expected(std::string_view what) const {
    fail("expected " + std::string(what) + ", found " + found());
  }
  [[noreturn]] void fail(const std::string& sentence) const;

  // The reader at the next token, to come back to.
  TextReader mark() {
    skip_space();
    return *this;
  }
  bool take(std::string_view token);  // after blanks, a word only as a whole
  void expect(std::string_view token);
  bool at(std::string_view token);
  // A name: letters, digits, `_` and `.`.
  std::string word(std::string_view what);
  // A name after `%`, without dots.
  std::string value_name();
  std::string quoted();
  std::int64_t integer();
  // What is left up to one of `stops` outside of brackets.
  std::string_view until(std::string_view stops);
  // The rest of the line without what begins it.
  std::string_view rest_of_line();
  void skip_lines();  // blanks, line ends and comments
  void skip_space();
  void skip(std::size_t bytes) { at_ += bytes; }  // that are known to be there
  bool at_line_end();

 private:
  std::string found() const;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace kiln::jit

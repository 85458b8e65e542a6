// Owns the text of a document as an editor and the front end both see it: lines and characters on one side,
// byte offsets on the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::editor {

// What `character` of a position counts, as agreed on with the editor.
enum class Encoding : std::uint8_t { Utf8, Utf16, Utf32 };

// Zero-based, as in the protocol.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t character = 0;
  friend auto operator<=>(const Position&, const Position&) = default;
};

class Text {
 public:
  explicit Text(std::string text = {}) { assign(std::move(text)); }

  const std::string& str() const { return text_; }
  std::size_t lines() const { return starts_.size(); }
  // Of a line, with what ends it: "\n", "\r\n" or "\r".
  std::string_view line(std::size_t number) const;
  std::size_t line_start(std::size_t number) const { return starts_[number]; }

  // Positions behind the end of a line or of the text mean that end; those within a character its beginning.
  std::size_t offset(Position at, Encoding encoding) const;
  Position position(std::size_t offset, Encoding encoding) const;

  void assign(std::string text);
  void replace(std::size_t begin, std::size_t end, std::string_view with);

 private:
  void find_lines();

  std::string text_;
  std::vector<std::size_t> starts_;
};

}  // namespace kiln::editor

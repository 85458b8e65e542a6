#include "editor/text.h"

#include <algorithm>
#include <utility>

#include "lang/utf8.h"

namespace kiln::editor {
namespace {

// How many units of the encoding a character takes.
std::uint32_t units(const lang::CodePoint& character, Encoding encoding) {
  switch (encoding) {
    case Encoding::Utf8:
      return character.length;
    case Encoding::Utf16:
      return character.value != lang::kBadCodePoint && character.value > 0xFFFF ? 2 : 1;
    case Encoding::Utf32:
      break;
  }
  return 1;
}

std::string_view without_line_end(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

void Text::assign(std::string text) {
  text_ = std::move(text);
  find_lines();
}

void Text::replace(std::size_t begin, std::size_t end, std::string_view with) {
  if (end < begin) std::swap(begin, end);
  text_.replace(begin, end - begin, with);
  find_lines();
}

void Text::find_lines() {
  starts_.assign(1, 0);
  for (std::size_t at = text_.find_first_of("\r\n"); at != std::string::npos;
       at = text_.find_first_of("\r\n", at)) {
    at += text_[at] == '\r' && at + 1 < text_.size() && text_[at + 1] == '\n' ? 2 : 1;
    starts_.push_back(at);
  }
}

std::string_view Text::line(std::size_t number) const {
  const std::size_t end = number + 1 < starts_.size() ? starts_[number + 1] : text_.size();
  return std::string_view(text_).substr(starts_[number], end - starts_[number]);
}

std::size_t Text::offset(Position at, Encoding encoding) const {
  if (at.line >= starts_.size()) return text_.size();
  const std::string_view line = without_line_end(this->line(at.line));
  std::size_t inside = 0;
  for (std::uint32_t left = at.character; inside < line.size();) {
    const lang::CodePoint character = lang::decode_utf8(line, inside);
    const std::uint32_t width = units(character, encoding);
    if (width > left) break;
    left -= width;
    inside += character.length;
  }
  return starts_[at.line] + inside;
}

Position Text::position(std::size_t offset, Encoding encoding) const {
  offset = std::min(offset, text_.size());
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), offset);
  const auto line = static_cast<std::size_t>(next - starts_.begin()) - 1;
  const std::string_view before = std::string_view(text_).substr(starts_[line], offset - starts_[line]);
  std::uint32_t character = 0;
  for (std::size_t inside = 0; inside < before.size();) {
    const lang::CodePoint each = lang::decode_utf8(before, inside);
    character += units(each, encoding);
    inside += each.length;
  }
  return {static_cast<std::uint32_t>(line), character};
}

}  // namespace kiln::editor

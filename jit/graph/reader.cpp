#include "jit/graph/reader.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace kiln::jit {

void TextReader::fail(const std::string& sentence) const {
  const std::string_view before = text_.substr(0, at_);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const auto begins = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; };
  const auto column =
      std::count_if(before.begin() + static_cast<std::ptrdiff_t>(start), before.end(), begins) + 1;
  throw OpError(ErrorKind::Syntax, "graph text, line " + std::to_string(line) + ", column " +
                                       std::to_string(column) + ": " + sentence);
}

std::string TextReader::found() const {
  if (at_ == text_.size()) return "the end";
  if (text_[at_] == '\n') return "the end of the line";
  std::size_t end = at_;
  while (end < text_.size() && is_word_byte(text_[end])) ++end;
  return "'" + std::string(text_.substr(at_, std::max<std::size_t>(end - at_, 1))) + "'";
}

void TextReader::skip_space() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
}
void TextReader::skip_lines() {
  while (true) {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
    if (at_ == text_.size() || text_[at_] != '\n') return;
    ++at_;
  }
}
bool TextReader::at_line_end() {
  skip_space();
  return at_ == text_.size() || text_[at_] == '\n' || text_[at_] == '#';
}

bool TextReader::at(std::string_view token) {
  skip_space();
  if (!text_.substr(at_).starts_with(token)) return false;
  const std::size_t end = at_ + token.size();
  return !is_word_byte(token.back()) || end == text_.size() || !is_word_byte(text_[end]);
}
bool TextReader::take(std::string_view token) {
  if (!at(token)) return false;
  at_ += token.size();
  return true;
}
void TextReader::expect(std::string_view token) {
  if (!take(token)) fail_expected("'" + std::string(token) + "'");
}

std::string TextReader::word(std::string_view what) {
  skip_space();
  const std::size_t begin = at_;
  while (at_ < text_.size() && (is_word_byte(text_[at_]) || text_[at_] == '.')) ++at_;
  if (at_ == begin) fail_expected(what);
  return std::string(text_.substr(begin, at_ - begin));
}
std::string TextReader::value_name() {
  if (!take("%")) fail_expected("a value");
  const std::size_t begin = at_;
  while (at_ < text_.size() && is_word_byte(text_[at_])) ++at_;
  if (at_ == begin) fail_expected("the name of a value");
  return std::string(text_.substr(begin, at_ - begin));
}

std::string TextReader::quoted() {
  expect("\"");
  std::string result;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
    if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
      ++at_;
      result += text_[at_] == 'n' ? '\n' : text_[at_];
    } else {
      result += text_[at_];
    }
    ++at_;
  }
  expect("\"");
  return result;
}

std::int64_t TextReader::integer() {
  skip_space();
  std::int64_t value = 0;
  const auto read = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (read.ec != std::errc()) fail_expected("an int");
  at_ = static_cast<std::size_t>(read.ptr - text_.data());
  return value;
}

std::string_view TextReader::until(std::string_view stops) {
  skip_space();
  const std::size_t begin = at_;
  int depth = 0;
  while (at_ < text_.size() && text_[at_] != '\n') {
    const char each = text_[at_];
    if (depth == 0 && stops.find(each) != std::string_view::npos) break;
    if (each == '(' || each == '[') ++depth;
    if (each == ')' || each == ']') --depth;
    ++at_;
  }
  std::string_view piece = text_.substr(begin, at_ - begin);
  while (!piece.empty() && piece.back() == ' ') piece.remove_suffix(1);
  return piece;
}

std::string_view TextReader::rest_of_line() {
  skip_space();
  const std::size_t begin = at_;
  at_ = std::min(text_.find('\n', at_), text_.size());
  return text_.substr(begin, at_ - begin);
}

}  // namespace kiln::jit

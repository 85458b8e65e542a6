#include "lang/source.h"

#include <algorithm>
#include <utility>

#include "lang/utf8.h"

namespace kiln::lang {

SourceFile::SourceFile(std::string name, std::string text, bool is_library)
    : name_(std::move(name)), text_(std::move(text)), is_library_(is_library) {
  line_starts_.push_back(0);
  for (std::size_t at = text_.find('\n'); at != std::string::npos; at = text_.find('\n', at + 1)) {
    line_starts_.push_back(static_cast<std::uint32_t>(at + 1));
  }
}

LineColumn SourceFile::locate(std::uint32_t offset) const {
  offset = std::min(offset, static_cast<std::uint32_t>(text_.size()));
  const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  LineColumn place;
  place.line = static_cast<std::uint32_t>(next - line_starts_.begin());
  for (std::uint32_t i = *std::prev(next); i < offset; i += decode_utf8(text_, i).length) ++place.column;
  return place;
}

std::string_view SourceFile::line(std::uint32_t number) const {
  if (number == 0 || number > line_count()) return {};
  const std::uint32_t begin = line_starts_[number - 1];
  std::uint32_t end =
      number < line_count() ? line_starts_[number] - 1 : static_cast<std::uint32_t>(text_.size());
  if (end > begin && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(begin, end - begin);
}

std::uint32_t SourceFile::line_start(std::uint32_t number) const {
  if (number == 0) return 0;
  return number <= line_count() ? line_starts_[number - 1] : static_cast<std::uint32_t>(text_.size());
}

const SourceFile& Sources::add(std::string name, std::string text, bool is_library) {
  return files_.emplace_back(std::move(name), std::move(text), is_library);
}

}  // namespace kiln::lang

#include "interpreter/files/csv_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "interpreter/files/bytes.h"

namespace kiln::interp::files {

CsvReader::CsvReader(std::string_view text, char delimiter) : text_(text), delimiter_(delimiter) {
  if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte-order mark
}

void CsvReader::skip_line() {
  while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  at_ = std::min(at_ + 1, text_.size());
  ++line_;
}

bool CsvReader::next(CsvRow& row) {
  row.fields.clear();
  row.is_quoted.clear();
  while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) {
    line_ += text_[at_] == '\n' ? 1 : 0;
    ++at_;
  }
  if (at_ >= text_.size()) return false;
  row.line = line_;
  do {
    row.is_quoted.push_back(at_ < text_.size() && text_[at_] == '"');
    row.fields.push_back(field());
  } while (take_delimiter());
  return true;
}

bool CsvReader::at_end_of_field() const {
  return at_ >= text_.size() || text_[at_] == delimiter_ || text_[at_] == '\n' || text_[at_] == '\r';
}

bool CsvReader::take_delimiter() {
  if (at_ < text_.size() && text_[at_] == delimiter_) {
    ++at_;
    return true;
  }
  if (at_ < text_.size() && text_[at_] == '\r') ++at_;
  if (at_ < text_.size() && text_[at_] == '\n') {
    ++at_;
    ++line_;
  }
  return false;
}

std::string CsvReader::field() {
  if (at_ < text_.size() && text_[at_] == '"') return quoted();
  const std::size_t begin = at_;
  while (!at_end_of_field()) ++at_;
  return std::string(text_.substr(begin, at_ - begin));
}

std::string CsvReader::quoted() {
  const std::int64_t line = line_;
  std::string value;
  for (++at_; at_ < text_.size(); ++at_) {
    if (text_[at_] == '"') {
      if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') {
        ++at_;
        if (!at_end_of_field())
          throw DamagedFile(fmt::format("line {}: text follows a closing quote", line_));
        return value;
      }
      ++at_;
    }
    line_ += text_[at_] == '\n' ? 1 : 0;
    value += text_[at_];
  }
  throw DamagedFile(fmt::format("line {}: a quote is not closed", line));
}

}  // namespace kiln::interp::files

// Owns how the text of a CSV file falls into rows and fields (RFC 4180): quoted fields may hold delimiters,
// newlines and doubled quotes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::interp::files {

struct CsvRow {
  std::vector<std::string> fields;
  std::vector<bool> is_quoted;  // of each field
  std::int64_t line = 0;        // in the file, from 1
};

// DamagedFile for a quote that is not closed, or that text follows.
class CsvReader {
 public:
  CsvReader(std::string_view text, char delimiter);
  void skip_line();
  // Empty lines are passed over. False at the end.
  bool next(CsvRow& row);

 private:
  bool take_delimiter();
  std::string field();
  std::string quoted();
  bool at_end_of_field() const;

  std::string_view text_;
  char delimiter_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

}  // namespace kiln::interp::files

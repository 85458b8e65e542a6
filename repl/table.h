// Owns how rows of words are set as a table.
#pragma once

#include <string>
#include <vector>

namespace kiln::repl {

struct Column {
  std::string title;
  bool is_number = false;  // set to the right
};

// A faint line of titles, then the rows, a blank or two between columns; lines end where their last word
// ends.
std::string table_text(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows,
                       bool color);

}  // namespace kiln::repl

// Owns which lines change when a part of a text is brought to the one format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::editor {

// `text` in the place of so many lines.
struct LineChange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::string text;
};

// The changes of whole lines that formatting makes to the lines from `first` to `last`, zero-based. Where
// they alone would change how the rest is formatted, as inside of a list that goes over several lines, all
// changes of the text. Throws UserError for a text that cannot be read.
std::vector<LineChange> range_changes(const std::string& name, const std::string& text, std::size_t first,
                                      std::size_t last);

}  // namespace kiln::editor

#include "editor/range_format.h"

#include <algorithm>
#include <string_view>

#include "lang/parse.h"

namespace kiln::editor {
namespace {

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

// By the longest common subsequence of lines.
class LineDiff {
 public:
  LineDiff(Lines before, Lines after) : before_(std::move(before)), after_(std::move(after)) {
    const auto same = std::ranges::mismatch(before_, after_);
    start_ = static_cast<std::size_t>(same.in1 - before_.begin());
    while (before_.size() - end_ > start_ && after_.size() - end_ > start_ &&
           before_[before_.size() - 1 - end_] == after_[after_.size() - 1 - end_])
      ++end_;
  }

  std::vector<LineChange> changes() {
    const std::size_t rows = before_.size() - end_ - start_, columns = after_.size() - end_ - start_;
    if (rows * columns > kMostCells) return {one_change(rows, columns)};
    const std::vector<std::uint32_t> lengths = common_lengths(rows, columns);
    std::vector<LineChange> all;
    bool is_open = false;
    for (std::size_t i = 0, j = 0; i < rows || j < columns;) {
      if (i < rows && j < columns && old_line(i) == new_line(j)) {
        ++i, ++j;
        is_open = false;
        continue;
      }
      if (!is_open) all.push_back({static_cast<std::uint32_t>(start_ + i), 0, ""});
      is_open = true;
      const bool adds = i == rows || (j < columns && lengths[i * (columns + 1) + j + 1] >
                                                         lengths[(i + 1) * (columns + 1) + j]);
      if (adds) {
        all.back().text += new_line(j++);
      } else {
        ++all.back().count, ++i;
      }
    }
    return all;
  }

 private:
  static constexpr std::size_t kMostCells = 16'000'000;

  std::string_view old_line(std::size_t i) const { return before_[start_ + i]; }
  std::string_view new_line(std::size_t j) const { return after_[start_ + j]; }

  LineChange one_change(std::size_t rows, std::size_t columns) const {
    LineChange whole{static_cast<std::uint32_t>(start_), static_cast<std::uint32_t>(rows), ""};
    for (std::size_t j = 0; j < columns; ++j) whole.text += new_line(j);
    return whole;
  }

  // Of what follows the lines i and j.
  std::vector<std::uint32_t> common_lengths(std::size_t rows, std::size_t columns) const {
    const std::size_t width = columns + 1;
    std::vector<std::uint32_t> lengths((rows + 1) * width);
    for (std::size_t i = rows; i-- > 0;) {
      for (std::size_t j = columns; j-- > 0;) {
        lengths[i * width + j] = old_line(i) == new_line(j)
                                     ? lengths[(i + 1) * width + j + 1] + 1
                                     : std::max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
      }
    }
    return lengths;
  }

  const Lines before_, after_;
  std::size_t start_ = 0, end_ = 0;  // lines that are the same at the beginning and at the end
};

// Where as many lines come as go, each is a change of its own, so that neighbours of a range stay as they
// are.
std::vector<LineChange> line_by_line(const std::vector<LineChange>& changes) {
  std::vector<LineChange> all;
  for (const LineChange& each : changes) {
    const Lines lines = lines_of(each.text);
    if (lines.size() != each.count) {
      all.push_back(each);
      continue;
    }
    for (std::uint32_t k = 0; k < each.count; ++k) all.push_back({each.first + k, 1, std::string(lines[k])});
  }
  return all;
}

// Those of lines from `first` to `last`.
std::vector<LineChange> changes_within(const std::vector<LineChange>& changes, std::size_t first,
                                       std::size_t last) {
  std::vector<LineChange> within;
  for (const LineChange& each : changes) {
    // Lines that are only added stand before the one of their number.
    const std::size_t end = each.first + std::max<std::size_t>(each.count, 1);
    if (each.first <= last && first < end) within.push_back(each);
  }
  return within;
}

std::string changed(const Lines& lines, const std::vector<LineChange>& changes) {
  std::string text;
  std::size_t at = 0;
  for (const LineChange& each : changes) {
    for (; at < each.first; ++at) text += lines[at];
    text += each.text;
    at += each.count;
  }
  for (; at < lines.size(); ++at) text += lines[at];
  return text;
}

std::string formatted(const std::string& name, const std::string& text) {
  return lang::format(lang::SourceFile(name, text));
}

}  // namespace

std::vector<LineChange> range_changes(const std::string& name, const std::string& text, std::size_t first,
                                      std::size_t last) {
  const std::string whole = formatted(name, text);
  const Lines lines = lines_of(text);
  const std::vector<LineChange> all = LineDiff(lines, lines_of(whole)).changes();
  for (const std::vector<LineChange>& each : {line_by_line(all), all}) {
    const std::vector<LineChange> within = changes_within(each, first, last);
    if (within.empty()) return {};
    try {
      if (formatted(name, changed(lines, within)) == whole) return within;
    } catch (const lang::UserError&) {
      // Half of what belongs together was changed.
    }
  }
  return all;
}

}  // namespace kiln::editor

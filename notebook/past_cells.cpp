#include "notebook/past_cells.h"

#include <fnmatch.h>

#include <algorithm>
#include <set>
#include <utility>

namespace kiln::notebook {
namespace {

std::vector<PastCell> newest(std::vector<PastCell> cells, int count) {
  const auto kept = static_cast<std::size_t>(std::max(count, 0));
  if (cells.size() > kept) cells.erase(cells.begin(), cells.end() - static_cast<std::ptrdiff_t>(kept));
  return cells;
}

}  // namespace

PastCells::PastCells(std::string file) : file_(std::move(file)) {
  int number = 0;
  for (const std::string& text : file_.entries()) earlier_.push_back({kEarlier, ++number, text, {}});
}

void PastCells::add(int number, std::string_view text, std::string_view output) {
  file_.add(text);
  cells_.push_back({kThis, number, std::string(text), std::string(output)});
  if (cells_.size() > kKept) cells_.pop_front();
}

std::vector<PastCell> PastCells::all() const {
  std::vector<PastCell> cells = earlier_;
  cells.insert(cells.end(), cells_.begin(), cells_.end());
  return cells;
}

std::vector<PastCell> PastCells::last(int count) const { return newest(all(), count); }

std::vector<PastCell> PastCells::range(int session, int start, int stop) const {
  if (session <= 0) session += kThis;
  std::vector<PastCell> found;
  for (PastCell& each : all()) {
    if (each.session == session && each.number >= start && each.number < stop)
      found.push_back(std::move(each));
  }
  return found;
}

std::vector<PastCell> PastCells::matching(const std::string& pattern, int count, bool unique) const {
  std::vector<PastCell> found;
  std::set<std::string> texts;
  std::vector<PastCell> cells = all();
  std::for_each(cells.rbegin(), cells.rend(), [&](PastCell& each) {
    if (fnmatch(pattern.c_str(), each.text.c_str(), 0) != 0) return;
    if (unique && !texts.insert(each.text).second) return;
    found.push_back(std::move(each));
  });
  std::reverse(found.begin(), found.end());
  return newest(std::move(found), count);
}

}  // namespace kiln::notebook

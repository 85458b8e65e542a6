#include <algorithm>
#include <cctype>
#include <vector>

#include "lang/diagnostic.h"

namespace kiln::lang {
namespace {

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

// The number of insertions, deletions, replacements and swaps of neighbours between two texts (the "optimal
// string alignment" variant of Damerau and Levenshtein).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates) {
  std::string_view best;
  std::size_t best_distance = name.size() / 3 + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate == name) continue;
    if (same_letters(candidate, name)) return candidate;
    const std::size_t apart =
        std::max(name.size(), candidate.size()) - std::min(name.size(), candidate.size());
    if (apart >= best_distance) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggest(std::string_view name, const std::vector<std::string_view>& candidates) {
  if (std::string foreign = foreign_name(name); !foreign.empty()) return foreign;
  const std::string_view found = nearest(name, candidates);
  return found.empty() ? "" : "did you mean `" + std::string(found) + "`?";
}

}  // namespace kiln::lang

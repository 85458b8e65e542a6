#include "jit/graph/diff.h"

#include <algorithm>

#include "jit/graph/text.h"

namespace kiln::jit {
namespace {

struct Line {
  std::string_view text;
  std::string_view code;   // without the comment
  std::string_view op;     // "graph", "return", … for other lines than nodes
  std::string_view place;  // the comment
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

Line line_of(std::string_view text) {
  const std::size_t comment = std::min(text.find("  # "), text.size());
  const std::string_view code = trimmed(text.substr(0, comment));
  std::string_view op = code;
  if (const std::size_t equals = code.find(" = ");
      code.starts_with('%') && equals != std::string_view::npos) {
    op = code.substr(equals + 3);
  }
  op = op.substr(0, std::min(op.find_first_of("( "), op.size()));
  return {text, code, op, text.substr(comment)};
}

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(line_of(text.substr(0, end)));
    text.remove_prefix(end + 1);
  }
  return lines;
}

// How well two lines belong together; 0: not at all.
int likeness(const Line& a, const Line& b) {
  if (a.code == b.code) return 4;
  if (a.op == b.op) return a.place == b.place ? 3 : 2;
  return !a.place.empty() && a.place == b.place ? 1 : 0;
}

// Steps of an alignment: a line of both, of the first alone, of the second alone.
constexpr char kBoth = '=', kOnlyA = '-', kOnlyB = '+';

// Above this many pairs of lines no alignment is looked for: the graphs are shown one after the other.
constexpr std::size_t kMostPairs = 100'000'000;

// For each pair of lines i and j, row by row, the step that begins the best alignment of what is left from
// there on (Needleman and Wunsch, 1970).
std::string best_steps(const std::vector<Line>& a, const std::vector<Line>& b) {
  const std::size_t width = b.size() + 1;
  std::string steps((a.size() + 1) * width, kOnlyB);
  std::vector<int> below(width, 0), row(width, 0);  // the likeness of what is left from i + 1 on, and from i
  for (std::size_t i = a.size(); i-- > 0;) {
    steps[i * width + b.size()] = kOnlyA;
    row[b.size()] = 0;
    for (std::size_t j = b.size(); j-- > 0;) {
      const int like = likeness(a[i], b[j]);
      const int both = like > 0 ? below[j + 1] + like : -1;
      const int best = std::max({both, below[j], row[j + 1]});
      row[j] = best;
      steps[i * width + j] = both == best ? kBoth : below[j] == best ? kOnlyA : kOnlyB;
    }
    std::swap(row, below);
  }
  return steps;
}

// The alignment of greatest likeness, from the first lines to the last.
std::string align(const std::vector<Line>& a, const std::vector<Line>& b) {
  if (a.size() * b.size() > kMostPairs) return std::string(a.size(), kOnlyA) + std::string(b.size(), kOnlyB);
  const std::string best = best_steps(a, b);
  std::string steps;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    steps += best[i * (b.size() + 1) + j];
    if (steps.back() != kOnlyB) ++i;
    if (steps.back() != kOnlyA) ++j;
  }
  return steps;
}

std::string marked(std::string_view mark, const Line& line) {
  return std::string(mark) + std::string(line.text) + "\n";
}

}  // namespace

std::string diff_graphs(const Graph& a, const Graph& b) {
  const std::string text_a = print_graph(a), text_b = print_graph(b);
  const std::vector<Line> lines_a = lines_of(text_a), lines_b = lines_of(text_b);
  std::string text;
  bool differs = false;
  std::size_t i = 0, j = 0;
  for (const char step : align(lines_a, lines_b)) {
    if (step == kBoth && lines_a[i].code == lines_b[j].code) {
      text += marked("  ", lines_b[j]);
    } else {
      differs = true;
      if (step != kOnlyB) text += marked("- ", lines_a[i]);
      if (step != kOnlyA) text += marked("+ ", lines_b[j]);
    }
    if (step != kOnlyB) ++i;
    if (step != kOnlyA) ++j;
  }
  return differs ? text : "";
}

}  // namespace kiln::jit

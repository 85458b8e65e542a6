#include "jit/graph/diff.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

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

std::vector<Line> split_lines(std::string_view text) {
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

// Both texts by the steps of an alignment; empty when no line differs.
template <class Same>
std::string marked_lines(const std::vector<Line>& a, const std::vector<Line>& b, std::string_view steps,
                         const Same& same) {
  std::string text;
  bool differs = false;
  std::size_t i = 0, j = 0;
  for (const char step : steps) {
    if (step == kBoth && same(a[i], b[j])) {
      text += marked("  ", b[j]);
    } else {
      differs = true;
      if (step != kOnlyB) text += marked("- ", a[i]);
      if (step != kOnlyA) text += marked("+ ", b[j]);
    }
    if (step != kOnlyB) ++i;
    if (step != kOnlyA) ++j;
  }
  return differs ? text : "";
}

}  // namespace

std::string diff_graphs(const Graph& a, const Graph& b, const OpText& text_of_op) {
  const std::string text_a = print_graph(a), text_b = print_graph(named_like(a, b, text_of_op));
  const std::vector<Line> lines_a = split_lines(text_a), lines_b = split_lines(text_b);
  return marked_lines(lines_a, lines_b, align(lines_a, lines_b),
                      [](const Line& x, const Line& y) { return x.code == y.code; });
}

bool same_text(const Graph& a, const Graph& b) {
  const std::string text_a = print_graph(a), text_b = print_graph(b);
  const std::vector<Line> lines_a = split_lines(text_a), lines_b = split_lines(text_b);
  const auto same = [](const Line& x, const Line& y) { return x.code == y.code; };
  return std::equal(lines_a.begin(), lines_a.end(), lines_b.begin(), lines_b.end(), same);
}

namespace {

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '"';
}

// The end of the name that begins at a place: "%y", "r12" of loops, ".LBB0_1"; the place itself where none
// does.
std::size_t end_of_name(std::string_view code, std::size_t begin) {
  if (begin > 0 && in_name(code[begin - 1])) return begin;
  std::size_t end = begin;
  while (end < code.size() && (in_name(code[end]) || (end == begin && code[end] == '%'))) ++end;
  const std::string_view name = code.substr(begin, end - begin);
  const bool is_slot = name.size() > 1 && name[0] == 'r' &&
                       std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
  const bool is_label = end < code.size() && code[end] == ':' && begin == 0;
  const bool is_name = name.size() > 1 && (name[0] == '%' || name.starts_with(".L") || is_slot);
  return is_name || is_label ? end : begin;
}

// A line with its names taken out.
struct Named {
  std::string shape;
  std::vector<std::string_view> names;
};

Named names_in(std::string_view code) {
  Named line;
  for (std::size_t i = 0; i < code.size();) {
    const std::size_t end = end_of_name(code, i);
    if (end == i) {
      line.shape += code[i++];
    } else {
      line.shape += '%';
      line.names.push_back(code.substr(i, end - i));
      i = end;
    }
  }
  return line;
}

// Code of a line: what stands before a comment of any of the languages.
Line code_line(std::string_view text) {
  Line line = line_of(text);
  const std::string_view bare = trimmed(text);
  const std::size_t comment =
      std::min({text.find("  # "), text.find("\t# "), text.find(" ; "), text.find("; "), text.size()});
  line.code = bare.starts_with('#') || bare.starts_with(';') ? "" : trimmed(text.substr(0, comment));
  return line;
}

// Lines with code; comments between them go with the line behind them.
std::vector<Line> code_lines(std::string_view text) {
  std::vector<Line> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const Line line = code_line(text.substr(0, end)); !line.code.empty()) lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Which name of the one text stands for which of the other.
class Renaming {
 public:
  bool fits(const Named& a, const Named& b) {
    if (a.shape != b.shape) return false;
    for (std::size_t k = 0; k < a.names.size(); ++k) {
      const auto there = to_b_.find(a.names[k]);
      const auto here = to_a_.find(b.names[k]);
      if (there != to_b_.end() ? there->second != b.names[k] : here != to_a_.end()) return false;
    }
    for (std::size_t k = 0; k < a.names.size(); ++k) {
      to_b_.emplace(a.names[k], b.names[k]);
      to_a_.emplace(b.names[k], a.names[k]);
    }
    return true;
  }

 private:
  std::map<std::string_view, std::string_view> to_a_, to_b_;
};

}  // namespace

std::string diff_texts(std::string_view a, std::string_view b, Names names) {
  const std::vector<Line> lines_a = code_lines(a), lines_b = code_lines(b);
  // What is aligned are lines without names; those have to live as long.
  std::vector<Named> named_a, named_b;
  std::vector<Line> bare_a = lines_a, bare_b = lines_b;
  for (const Line& each : lines_a) named_a.push_back(names_in(each.code));
  for (const Line& each : lines_b) named_b.push_back(names_in(each.code));
  const auto take_names = [](std::vector<Line>& lines, const std::vector<Named>& named) {
    for (std::size_t k = 0; k < lines.size(); ++k) {
      lines[k].code = named[k].shape;
      lines[k].op = lines[k].code.substr(0, lines[k].code.find_first_of("( \t"));
      lines[k].place = {};
    }
  };
  take_names(bare_a, named_a);
  take_names(bare_b, named_b);
  Renaming renaming;
  return marked_lines(lines_a, lines_b, align(bare_a, bare_b), [&](const Line& x, const Line& y) {
    const Named& p = named_a[static_cast<std::size_t>(&x - lines_a.data())];
    const Named& q = named_b[static_cast<std::size_t>(&y - lines_b.data())];
    return names == Names::Registers ? p.shape == q.shape : renaming.fits(p, q);
  });
}

}  // namespace kiln::jit

#include "repl/graph_view.h"

#include <fmt/format.h>

#include <charconv>

#include "interpreter/vm/impl.h"
#include "jit/graph/text.h"
#include "repl/command.h"
#include "repl/lines.h"
#include "repl/terminal.h"

namespace kiln::repl {
namespace {

// A line of a graph with its comment in the background.
std::string painted(std::string_view line, bool color) {
  const std::size_t comment = line.find("  # ");
  if (comment == std::string_view::npos) return std::string(line);
  return std::string(line.substr(0, comment)) + paint(line.substr(comment), style::kFaint, color);
}

}  // namespace

std::string source_line(Session& session, const std::string& file, int line) {
  const lang::SourceFile* source = session.interpreter().impl().modules.source(file);
  if (source == nullptr || line < 1) return {};
  return std::string(trim(source->line(static_cast<std::uint32_t>(line))));
}

std::string graph_view(Session& session, const jit::Graph& graph) {
  const std::string text = jit::print_graph(graph);
  const std::vector<std::string_view> lines = lines_of(text);
  std::string view;
  const jit::Place* last = nullptr;
  // Bodies of functions and loops come before the header, behind which the nodes are.
  std::size_t header = 0;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i].starts_with("graph ")) header = i;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool is_node = i > header && i <= header + graph.nodes.size();
    if (is_node) {
      const jit::Place& place = graph.nodes[i - header - 1].place;
      const bool new_line =
          !place.file.empty() && (last == nullptr || !(last->file == place.file) || last->line != place.line);
      const std::string source = new_line ? source_line(session, place.file.get(), place.line) : "";
      if (!source.empty()) {
        view += paint(fmt::format("  # {}:{} | {}", place.file.get(), place.line, source), style::kCode,
                      session.color()) +
                "\n";
      }
      if (!place.file.empty()) last = &place;
    }
    view += painted(lines[i], session.color()) + "\n";
  }
  return view;
}

std::pair<std::string, int> place_at_end(std::string_view line) {
  const std::size_t column = line.rfind(':');
  const std::size_t row = column == std::string_view::npos ? column : line.rfind(':', column - 1);
  if (row == std::string_view::npos) return {};
  const std::size_t before = line.find_last_of(" ", row);
  int number = 0;
  const char* const end = line.data() + column;
  if (before == std::string_view::npos || std::from_chars(line.data() + row + 1, end, number).ptr != end)
    return {};
  return {std::string(line.substr(before + 1, row - before - 1)), number};
}

std::string code_view(Session& session, std::string_view text) {
  std::string view;
  std::pair<std::string, int> last;
  for (const std::string_view line : lines_of(text)) {
    const std::size_t comment = std::min(line.find("# "), line.find("; "));
    std::pair<std::string, int> place;
    if (comment != std::string_view::npos) place = place_at_end(line.substr(comment));
    const std::string source =
        place.first.empty() || place == last ? "" : source_line(session, place.first, place.second);
    if (!source.empty()) {
      const std::string note =
          fmt::format("  {} {}:{} | {}", line[comment], place.first, place.second, source);
      view += paint(note, style::kCode, session.color()) + "\n";
      last = place;
    }
    view += painted(line, session.color()) + "\n";
  }
  return view;
}

std::string break_view(Session& session, const interp::CapturedGraph& captured) {
  if (captured.break_reason.empty()) return {};
  std::string text = "# break";
  if (!captured.break_file.empty())
    text += fmt::format(" at {}:{}", captured.break_file, captured.break_line);
  text += ": " + captured.break_reason;
  const std::string source = source_line(session, captured.break_file, captured.break_line);
  if (!source.empty()) text += "\n#   " + source;
  return paint(text, style::kHeading, session.color()) + "\n";
}

}  // namespace kiln::repl

#include "repl/graph_view.h"

#include <fmt/format.h>

#include "interpreter/impl.h"
#include "jit/diff.h"
#include "jit/text.h"
#include "repl/command.h"
#include "repl/terminal.h"

namespace kiln::repl {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

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
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool is_node = i > 0 && i <= graph.nodes.size();  // the first line is the header
    if (is_node) {
      const jit::Place& place = graph.nodes[i - 1].place;
      const bool new_line =
          !place.file.empty() && (last == nullptr || last->file != place.file || last->line != place.line);
      const std::string source = new_line ? source_line(session, place.file, place.line) : "";
      if (!source.empty()) {
        view += paint(fmt::format("  # {}:{} | {}", place.file, place.line, source), style::kCode,
                      session.color()) +
                "\n";
      }
      if (!place.file.empty()) last = &place;
    }
    view += painted(lines[i], session.color()) + "\n";
  }
  return view;
}

std::string diff_view(Session& session, const jit::Graph& a, const jit::Graph& b) {
  const std::string text = jit::diff_graphs(a, b);
  if (text.empty()) return "the graphs are equal\n";
  std::string view;
  for (const std::string_view line : lines_of(text)) {
    const std::string_view style = line[0] == '-' ? style::kRemoved : line[0] == '+' ? style::kAdded : "";
    view += (style.empty() ? painted(line, session.color()) : paint(line, style, session.color())) + "\n";
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

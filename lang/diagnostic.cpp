#include "lang/diagnostic.h"

#include <algorithm>

#include "lang/snippet.h"

namespace kiln::lang {
namespace {

// Of a folded trace, how many calls are shown at either end.
constexpr std::size_t kShownCalls = 5;

std::string place_text(const Span& span) {
  const LineColumn at = span.file->locate(span.begin);
  return span.file->name() + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

// The labels of one line.
struct Snippet {
  const SourceFile* file;
  std::uint32_t line;
  std::vector<Mark> marks;
};

std::vector<Snippet> group_by_line(const std::vector<Label>& labels) {
  std::vector<Snippet> snippets;
  for (const Label& label : labels) {
    if (!label.span) continue;
    const SourceFile* file = label.span.file;
    const std::uint32_t line = file->locate(label.span.begin).line;
    auto same = std::find_if(snippets.begin(), snippets.end(),
                             [&](const Snippet& s) { return s.file == file && s.line == line; });
    if (same == snippets.end()) same = snippets.insert(same, Snippet{file, line, {}});
    same->marks.push_back({&label, &label == labels.data()});
  }
  return snippets;
}

struct Call {
  std::string text;
  std::size_t times = 1;
};

std::string describe(const Call& call) {
  return call.text + (call.times > 1 ? " (" + std::to_string(call.times) + " times)" : "") + "\n";
}

// A call that repeats at once is one line with a count. Otherwise only both ends of a long trace are shown.
std::string render_trace(const std::vector<Frame>& trace, bool full) {
  std::vector<Call> calls;
  for (std::size_t i = 1; i < trace.size(); ++i) {
    const Frame& frame = trace[i];
    std::string text = "called from " + (frame.span ? place_text(frame.span) : std::string("the host"));
    if (!frame.function.empty()) text += " in " + frame.function;
    if (!full && !calls.empty() && calls.back().text == text) {
      ++calls.back().times;
    } else {
      calls.push_back({std::move(text), 1});
    }
  }
  std::string out;
  const bool fold = !full && calls.size() > 2 * kShownCalls + 1;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (fold && i == kShownCalls) {
      std::size_t hidden = 0;
      for (; i < calls.size() - kShownCalls; ++i) hidden += calls[i].times;
      out += "… " + std::to_string(hidden) + " more calls\n";
    }
    out += describe(calls[i]);
  }
  return out;
}

}  // namespace

std::string render(const Diagnostic& diagnostic, const RenderOptions& options) {
  const Palette& palette = options.color ? kColored : kPlain;
  const auto painted = [&](std::string_view color, const std::string& text) {
    return std::string(color) + text + std::string(palette.reset);
  };
  std::string out =
      painted(palette.kind, diagnostic.kind) + painted(palette.strong, ": " + diagnostic.message) + "\n";
  const std::vector<Snippet> snippets = group_by_line(diagnostic.labels);
  std::size_t gutter = 1;
  for (const Snippet& snippet : snippets) gutter = std::max(gutter, std::to_string(snippet.line).size());
  for (const Snippet& snippet : snippets) {
    const std::string arrow = std::string(gutter, ' ') + "--> ";
    out += painted(palette.frame, arrow) + place_text(snippet.marks.front().label->span) + "\n";
    out += draw_snippet(*snippet.file, snippet.line, snippet.marks, static_cast<int>(gutter), palette);
  }
  if (!diagnostic.help.empty()) out += painted(palette.help, "help: ") + diagnostic.help + "\n";
  return out + render_trace(diagnostic.trace, options.full_trace);
}

}  // namespace kiln::lang

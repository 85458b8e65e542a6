#include "lang/diagnostic.h"

#include <algorithm>

#include "lang/error_codes.h"
#include "lang/link.h"
#include "lang/snippet.h"

namespace kiln::lang {
namespace {

// Of a folded trace, how many calls are shown at either end.
constexpr std::size_t kShownCalls = 5;

std::string place_text(const Span& span, bool links) {
  const LineColumn at = span.file->locate(span.begin);
  const std::string& file = span.file->name();
  const std::string text = file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
  return links && !span.file->is_library() ? link_to_file(file, at.line, text) : text;
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
  std::string source;
  std::size_t times = 1;
};

std::string describe(const Call& call) {
  const std::string times = call.times > 1 ? " (" + std::to_string(call.times) + " times)" : "";
  return call.text + times + "\n" + (call.source.empty() ? "" : "  | " + call.source + "\n");
}

bool is_of_library(const Frame& frame) { return frame.span && frame.span.file->is_library(); }

// The line of a call, as it is written.
std::string source_text(const Span& span) {
  const std::string_view line = span.file->line(span.file->locate(span.begin).line);
  const std::size_t begin = line.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string() : std::string(line.substr(begin));
}

// The calls from the frame `first` on. A call that repeats at once is told once, with a count. Otherwise only
// both ends of a long trace are shown, and no calls by the library.
std::string render_trace(const std::vector<Frame>& trace, std::size_t first, const RenderOptions& options) {
  const bool full = options.full_trace;
  std::vector<Call> calls;
  for (std::size_t i = first; i < trace.size(); ++i) {
    const Frame& frame = trace[i];
    if (!full && is_of_library(frame)) continue;
    std::string text =
        "called from " + (frame.span ? place_text(frame.span, options.links) : std::string("the host"));
    if (!frame.function.empty()) text += " in " + frame.function;
    if (!full && !calls.empty() && calls.back().text == text) {
      ++calls.back().times;
    } else {
      calls.push_back({std::move(text), frame.span ? source_text(frame.span) : ""});
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

std::string_view Diagnostic::code() const { return error_code(kind, message).code; }

std::size_t Diagnostic::library_calls() const {
  if (!place() || !place().file->is_library()) return 0;
  const auto user = std::find_if(trace.begin(), trace.end(),
                                 [](const Frame& each) { return each.span && !is_of_library(each); });
  return user == trace.end() ? 0 : static_cast<std::size_t>(user - trace.begin());
}

Span Diagnostic::user_place() const {
  const std::size_t calls = library_calls();
  return calls == 0 ? place() : trace[calls].span;
}

std::string render(const Diagnostic& diagnostic, const RenderOptions& options) {
  const Palette& palette = options.color ? kColored : kPlain;
  const auto painted = [&](std::string_view color, const std::string& text) {
    return std::string(color) + text + std::string(palette.reset);
  };
  std::string out =
      painted(palette.kind, diagnostic.kind) + painted(palette.strong, ": " + diagnostic.message);
  if (options.code) out += " " + painted(palette.frame, "[" + std::string(diagnostic.code()) + "]");
  out += "\n";
  const std::size_t library_calls = diagnostic.library_calls();
  const Label user{diagnostic.user_place(), ""};
  // Lines of the library are no help to who wrote the call; who asks for the full trace looks into it.
  std::vector<Snippet> snippets;
  if (library_calls == 0 || options.full_trace) snippets = group_by_line(diagnostic.labels);
  if (library_calls > 0) {
    snippets.insert(snippets.begin(),
                    Snippet{user.span.file, user.span.file->locate(user.span.begin).line, {{&user, true}}});
  }
  std::size_t gutter = 1;
  for (const Snippet& snippet : snippets) gutter = std::max(gutter, std::to_string(snippet.line).size());
  for (const Snippet& snippet : snippets) {
    const std::string arrow = std::string(gutter, ' ') + "--> ";
    const Span& span = snippet.marks.front().label->span;
    out += painted(palette.frame, arrow) + place_text(span, options.links);
    if (library_calls > 0 && span == diagnostic.place() && !diagnostic.trace.front().function.empty())
      out += " in " + diagnostic.trace.front().function;
    out += "\n";
    out += draw_snippet(*snippet.file, snippet.line, snippet.marks, static_cast<int>(gutter), palette);
  }
  if (!diagnostic.help.empty()) out += painted(palette.help, "help: ") + diagnostic.help + "\n";
  const std::size_t first = options.full_trace || library_calls == 0 ? 1 : library_calls + 1;
  return out + render_trace(diagnostic.trace, first, options);
}

}  // namespace kiln::lang

#include "repl/doctest.h"

#include <algorithm>

#include "repl/lines.h"
#include "repl/prompt_mark.h"
#include "tensor/interrupt.h"

namespace kiln::repl {
namespace {

std::string_view trim_left(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t");
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

std::string without_trailing_blanks(std::string_view text) {
  std::string clean;
  std::string line;
  const auto flush = [&] {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    clean += line + "\n";
    line.clear();
  };
  for (const char c : text) {
    if (c == '\n')
      flush();
    else
      line += c;
  }
  flush();
  clean.erase(clean.find_last_not_of('\n') + 1);
  return clean;
}

}  // namespace

std::vector<Example> find_examples(std::string_view documentation) {
  std::vector<Example> examples;
  bool inside = false;  // an example whose expectation may go on
  for (int number = 0; !documentation.empty(); ++number) {
    const std::size_t end = std::min(documentation.find('\n'), documentation.size());
    const std::string_view line = documentation.substr(0, end);
    documentation.remove_prefix(std::min(end + 1, documentation.size()));
    const std::string_view text = trim_left(line);
    const std::size_t mark = prompt_length(text);
    if (mark > 0 && text.size() > mark) {
      examples.push_back({std::string(text.substr(mark)), {}, number});
      inside = true;
    } else if (text.empty() || text.starts_with("```")) {
      inside = false;
    } else if (inside && text.starts_with("... ") && examples.back().expected.empty()) {
      examples.back().entry += "\n" + std::string(text.substr(4));
    } else if (inside) {
      examples.back().expected += (examples.back().expected.empty() ? "" : "\n") + std::string(line);
    }
  }
  return examples;
}

bool same_output(std::string_view expected, std::string_view actual) {
  return without_trailing_blanks(expected) == without_trailing_blanks(actual);
}

std::optional<FailedExample> run_examples(Session& session, std::string_view documentation) {
  for (const Example& example : find_examples(documentation)) {
    const Result result = session.eval(example.entry);
    // It ends all examples, not the one that runs.
    if (result.status == Status::Interrupted) throw_interrupt();
    const std::vector<std::string_view> errors = lines_of(result.diagnostics);
    std::string actual = result.output + std::string(errors.empty() ? "" : errors.front());
    if (!same_output(example.expected, actual)) return FailedExample{example, std::move(actual)};
  }
  return std::nullopt;
}

}  // namespace kiln::repl

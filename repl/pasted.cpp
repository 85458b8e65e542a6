#include "repl/pasted.h"

#include <algorithm>

#include "lang/parse.h"
#include "repl/lines.h"
#include "repl/prompt_mark.h"

namespace kiln::repl {
namespace {

constexpr std::string_view kContinuation = "...";

std::string_view trim_left(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t");
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

bool strip_prompt(std::string_view& line) {
  const std::string_view rest = trim_left(line);
  const std::size_t length = prompt_length(rest);
  if (length > 0) line = rest.substr(length);
  return length > 0;
}

// A continuation prompt is followed by a space or nothing.
bool strip_continuation(std::string_view& line) {
  std::string_view rest = trim_left(line);
  if (!rest.starts_with(kContinuation)) return false;
  rest.remove_prefix(kContinuation.size());
  if (!rest.empty() && rest.front() != ' ') return false;
  line = rest.substr(std::min<std::size_t>(rest.size(), 1));
  return true;
}

// Without what other systems end lines with beside.
std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines = lines_of(text);
  for (std::string_view& line : lines) {
    if (line.ends_with('\r')) line.remove_suffix(1);
  }
  return lines;
}

// Commands one below the other: each begins with a colon, and lines that do not go on with it.
std::vector<std::string> split_commands(std::string_view text) {
  std::vector<std::string> entries;
  for (const std::string_view line : split_lines(text)) {
    if (trim_left(line).starts_with(':')) {
      entries.emplace_back(line);
    } else if (!entries.empty()) {
      entries.back().append("\n").append(line);
    }
  }
  return entries;
}

}  // namespace

std::vector<std::string> split_pasted(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return {std::string(text)};
  if (text[start] == ':') return split_commands(text);
  std::string_view first = text.substr(start, text.find_first_of("\r\n", start) - start);
  if (!strip_prompt(first)) return {std::string(text)};
  std::vector<std::string> entries;
  for (std::string_view line : split_lines(text)) {
    if (strip_prompt(line)) {
      entries.emplace_back(line);
    } else if (entries.empty()) {
      continue;
    } else if (strip_continuation(line) ||
               lang::completeness(entries.back()) == lang::Completeness::Incomplete) {
      entries.back().append("\n").append(line);
    }
  }
  return entries;
}

}  // namespace kiln::repl

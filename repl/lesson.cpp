#include "repl/lesson.h"

#include <fmt/format.h>

#include <charconv>

#include "repl/command.h"
#include "repl/lines.h"
#include "tensor/error.h"

namespace kiln::repl {
namespace {

constexpr std::string_view kFence = "```";
constexpr std::string_view kExercise = "Exercise: ";

// What stands between two marks, and a place behind it; throws when one is missing.
std::string_view between(std::string_view text, std::string_view from, std::string_view to,
                         std::string_view title) {
  const std::size_t begin = text.find(from);
  const std::size_t end = begin == std::string_view::npos ? begin : text.find(to, begin + from.size());
  if (end == std::string_view::npos)
    throw InternalError(fmt::format("the exercise \"{}\" has no part `{}`", title, from));
  return text.substr(begin + from.size(), end - begin - from.size());
}

void read_exercise(Section& section) {
  const std::string all = section.text;
  const std::string_view text = all;
  Exercise exercise;
  exercise.check = trim(between(text, "```check\n", kFence, section.title));
  exercise.hint = trim(between(text, "<summary>Hint</summary>", "</details>", section.title));
  const std::string_view answer = between(text, "<summary>Answer</summary>", "</details>", section.title);
  exercise.answer = trim(between(answer, "```\n", kFence, section.title));
  section.text = trim(text.substr(0, text.find("```check")));
  section.exercise = std::move(exercise);
}

// "# 3. Guards and breaks"
void read_title(std::string_view line, Lesson& lesson) {
  const std::size_t point = line.find(". ");
  const auto read = std::from_chars(line.data() + std::min<std::size_t>(2, line.size()),
                                    line.data() + line.size(), lesson.number);
  if (!line.starts_with("# ") || point == std::string_view::npos || read.ec != std::errc())
    throw InternalError(fmt::format("a lesson begins with its number and title, not with `{}`", line));
  lesson.title = line.substr(point + 2);
}

}  // namespace

Lesson read_lesson(std::string_view text) {
  Lesson lesson;
  const std::vector<std::string_view> lines = lines_of(text);
  read_title(lines.empty() ? "" : lines[0], lesson);
  lesson.sections.push_back({lesson.title, "", std::nullopt});
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].starts_with("## ")) {
      lesson.sections.push_back({std::string(lines[i].substr(3)), "", std::nullopt});
    } else {
      lesson.sections.back().text += std::string(lines[i]) + "\n";
    }
  }
  for (Section& each : lesson.sections) {
    if (each.title.starts_with(kExercise)) read_exercise(each);
  }
  return lesson;
}

const std::vector<Lesson>& lessons() {
  static const std::vector<Lesson> all = [] {
    std::vector<Lesson> read;
    for (const std::string_view text : lesson_texts()) read.push_back(read_lesson(text));
    return read;
  }();
  return all;
}

std::vector<Piece> pieces_of(std::string_view markdown) {
  std::vector<Piece> pieces;
  bool in_code = false, goes_on = false;
  for (const std::string_view line : lines_of(markdown)) {
    if (line.starts_with(kFence)) {
      in_code = !in_code;
      if (in_code) pieces.push_back({true, ""});
      goes_on = false;
    } else if (in_code) {
      pieces.back().text += std::string(line) + "\n";
    } else if (trim(line).empty()) {
      goes_on = false;
    } else if (goes_on && !line.starts_with("- ")) {
      pieces.back().text += " " + std::string(trim(line));
    } else {
      pieces.push_back({false, std::string(line)});
      goes_on = true;
    }
  }
  return pieces;
}

}  // namespace kiln::repl

// Owns the lessons as documents: Markdown files of docs/lessons, read into sections and exercises.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::repl {

// A task that the reader does at the prompt. In the document it is a section whose title begins with
// "Exercise: ". After the task come a block marked `check`, and two parts that open on a click, the hint and
// the answer.
struct Exercise {
  std::string check;   // an expression that is true once the task is done
  std::string hint;    // a sentence or two
  std::string answer;  // entries that do the task
};

struct Section {
  std::string title;  // of the first section of a lesson: the lesson's
  std::string text;   // Markdown; of an exercise the task alone
  std::optional<Exercise> exercise;
};

struct Lesson {
  int number = 0;
  std::string title;
  std::vector<Section> sections;
};

// Throws InternalError for a document that is not written as above.
Lesson read_lesson(std::string_view text);

// The documents that are part of this program, in order. Generated from docs/lessons.
std::span<const std::string_view> lesson_texts();
// All of them, read when first asked for; lesson n is at n - 1.
const std::vector<Lesson>& lessons();

// A piece of a section: sentences, or a block of code.
struct Piece {
  bool is_code = false;
  std::string text;
};
std::vector<Piece> pieces_of(std::string_view markdown);

}  // namespace kiln::repl

// Owns the lesson that is under way at a prompt, and which exercises were done, also in earlier sessions.
#pragma once

#include <set>
#include <string>

#include "repl/lesson.h"

namespace kiln::repl {

class Session;

class LessonProgress {
 public:
  // Exercises are kept in a file of that folder; "" keeps them in memory alone. A file that cannot be read or
  // written is not an error.
  explicit LessonProgress(std::string folder);

  bool is_done(const Lesson& lesson, const Section& exercise) const;
  void note_done(const Lesson& lesson, const Section& exercise);

  // The lesson under way, and the section that comes next; null when there is none.
  const Lesson* lesson = nullptr;
  std::size_t next = 0;
  // The exercise that waits for the reader; null when none does.
  const Section* exercise = nullptr;

 private:
  std::string path_;
  std::set<std::string> done_;
};

// Is the check of an exercise true now? An error is no: what it speaks of is not there yet. `why` becomes the
// error's sentence, or what the check gave.
bool holds(Session& session, const Exercise& exercise, std::string* why = nullptr);

// After an entry: says so when the exercise under way is done by it.
void check_exercise(Session& session);

}  // namespace kiln::repl

#include "repl/lesson_progress.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>

#include "repl/session.h"
#include "repl/terminal.h"

namespace kiln::repl {
namespace {

std::string key_of(const Lesson& lesson, const Section& exercise) {
  return fmt::format("{} {}", lesson.number, exercise.title);
}

}  // namespace

LessonProgress::LessonProgress(std::string folder) : path_(folder.empty() ? folder : folder + "/lessons") {
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) done_.insert(line);
}

bool LessonProgress::is_done(const Lesson& of, const Section& which) const {
  return done_.contains(key_of(of, which));
}

void LessonProgress::note_done(const Lesson& of, const Section& which) {
  const std::string key = key_of(of, which);
  if (!done_.insert(key).second || path_.empty()) return;
  std::ofstream(path_, std::ios::app) << key << "\n";
  chmod(path_.c_str(), 0600);
}

bool holds(Session& session, const Exercise& exercise, std::string* why) {
  try {
    const interp::Value value = session.interpreter().run("<check>", exercise.check).value;
    if (why != nullptr) *why = "it gives " + session.interpreter().repr(value);
    return value.is(interp::Tag::Bool) && value.as_bool();
  } catch (const lang::UserError& error) {
    if (error.diagnostic().kind == "Interrupted") throw;
    if (why != nullptr) *why = error.diagnostic().message;
    return false;
  }
}

void check_exercise(Session& session) {
  LessonProgress& progress = session.lesson_progress();
  if (progress.exercise == nullptr || !holds(session, *progress.exercise->exercise)) return;
  progress.note_done(*progress.lesson, *progress.exercise);
  progress.exercise = nullptr;
  session.interpreter().flush();
  const bool was_last = progress.next == progress.lesson->sections.size();
  session.write(paint("Done: the exercise is solved.", style::kAdded, session.color()) +
                (was_last ? " It was the last part of this lesson.\n" : " `:lesson next` goes on.\n"));
}

}  // namespace kiln::repl

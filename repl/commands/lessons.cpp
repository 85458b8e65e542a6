// The command that takes a reader through the lessons: lesson.
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "interpreter/values/natives.h"
#include "repl/columns.h"
#include "repl/command.h"
#include "repl/doctest.h"
#include "repl/highlight.h"
#include "repl/lesson_progress.h"
#include "repl/prompt_mark.h"
#include "repl/terminal.h"

namespace kiln::repl {
namespace {

// ---- The list ----

std::string progress_text(const LessonProgress& progress, const Lesson& lesson) {
  int done = 0, all = 0;
  for (const Section& each : lesson.sections) {
    if (!each.exercise) continue;
    ++all;
    if (progress.is_done(lesson, each)) ++done;
  }
  return done == all ? "done" : fmt::format("{} of {} exercises", done, all);
}

void list(Session& session) {
  const LessonProgress& progress = session.lesson_progress();
  for (const Lesson& each : lessons()) {
    session.write(fmt::format("{:>3}  {:<40} {}\n", each.number, each.title, progress_text(progress, each)));
  }
  session.write(
      "`:lesson 1` begins one; `:lesson next` goes on; `:lesson hint` and `:lesson answer` help.\n");
}

// ---- A section ----

// "[the map](x.md)" is "the map" on a terminal.
std::string without_links(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const std::size_t open = text.find('['), middle = text.find("](", open);
    const std::size_t close = middle == std::string_view::npos ? middle : text.find(')', middle);
    if (close == std::string_view::npos) return plain + std::string(text);
    plain += std::string(text.substr(0, open)) + std::string(text.substr(open + 1, middle - open - 1));
    text.remove_prefix(close + 1);
  }
  return plain;
}

// Shows an entry behind the prompt and runs it, as if the reader had typed it.
void run_example(Session& session, const std::string& entry) {
  const bool colored = session.color() && !is_command(entry);
  const int number = session.options().numbers ? session.log().next_number() : 0;
  std::string shown;
  for (const char c : colored ? colored_source(entry) : entry) {
    shown += c;
    if (c == '\n') shown += continuation_mark(number);
  }
  session.write(paint(prompt_mark(number), style::kPrompt, session.color()) + shown + "\n");
  try {
    session.as_entry(entry, [&] {
      if (!run_command(session, entry)) session.eval_text(entry);
    });
  } catch (const lang::UserError& error) {
    if (error.diagnostic().kind == "Interrupted") throw;
    session.report(error.diagnostic());
  }
  session.interpreter().flush();
}

void show_code(Session& session, const std::string& code) {
  const std::vector<Example> examples = find_examples(code);
  if (examples.empty()) return session.write(code + "\n");
  for (const Example& each : examples) run_example(session, each.entry);
  session.write("\n");
}

std::string fitted(const Piece& sentences) {
  return wrapped(without_links(sentences.text), interp::print_options().width) + "\n";
}

void show(Session& session, const Section& section) {
  session.write(paint(section.title, style::kHeading, session.color()) + "\n\n");
  for (const Piece& each : pieces_of(section.text)) {
    if (each.is_code) {
      show_code(session, each.text);
    } else {
      session.write(fitted(each) + "\n");
    }
  }
}

void go_on(Session& session) {
  LessonProgress& progress = session.lesson_progress();
  const Section& section = progress.lesson->sections[progress.next++];
  show(session, section);
  const bool is_last = progress.next == progress.lesson->sections.size();
  if (!section.exercise) {
    if (!is_last) session.on_enter(":lesson next");
    return session.write(is_last ? "This was the last part of the lesson. `:lesson` lists the others.\n"
                                 : "Enter or `:lesson next` goes on.\n");
  }
  progress.exercise = &section;
  session.write("Each entry is checked. `:lesson hint` helps, `:lesson answer` shows one solution.\n");
  check_exercise(session);
}

void begin(Session& session, const Lesson& lesson) {
  LessonProgress& progress = session.lesson_progress();
  progress.lesson = &lesson;
  progress.next = 0;
  progress.exercise = nullptr;
  session.write(fmt::format("Lesson {} of {}\n", lesson.number, lessons().size()));
  go_on(session);
}

// ---- Words of the command ----

const Lesson& first_unfinished(const LessonProgress& progress) {
  for (const Lesson& each : lessons()) {
    if (progress_text(progress, each) != "done") return each;
  }
  return lessons().front();
}

void next(Session& session) {
  LessonProgress& progress = session.lesson_progress();
  if (progress.lesson == nullptr) return begin(session, first_unfinished(progress));
  if (progress.next == progress.lesson->sections.size()) {
    const auto number = static_cast<std::size_t>(progress.lesson->number);
    if (number == lessons().size()) return session.write("This was the last lesson.\n");
    return begin(session, lessons()[number]);
  }
  progress.exercise = nullptr;
  go_on(session);
}

const Exercise& exercise_under_way(Session& session) {
  const Section* const section = session.lesson_progress().exercise;
  if (section == nullptr)
    command_error("ValueError", "no exercise is under way", "`:lesson next` goes on to the next one");
  return *section->exercise;
}

void check(Session& session) {
  const Exercise& exercise = exercise_under_way(session);
  std::string why;
  session.write(fmt::format("The exercise is done when this is true:\n  {}\n", exercise.check));
  if (!holds(session, exercise, &why)) return session.write(fmt::format("It is not yet: {}\n", why));
  check_exercise(session);
}

void hint(Session& session) {
  for (const Piece& each : pieces_of(exercise_under_way(session).hint)) session.write(fitted(each));
}

void lesson(Session& session, std::string_view word) {
  if (word.empty()) return list(session);
  if (word == "next") return next(session);
  if (word == "hint") return hint(session);
  if (word == "answer") return session.write(exercise_under_way(session).answer + "\n");
  if (word == "check") return check(session);
  std::size_t number = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), number);
  if (read.ec != std::errc() || read.ptr != word.data() + word.size())
    usage_error(*find_command("lesson"), fmt::format("`{}` is no lesson", word));
  if (number < 1 || number > lessons().size()) {
    usage_error(*find_command("lesson"),
                fmt::format("there are lessons 1 to {}, and no lesson {}", lessons().size(), number));
  }
  begin(session, lessons()[number - 1]);
}

constexpr std::array<Command, 1> kLessonsCommands{{
    {"lesson", "[n | next | hint | answer | check]", "Learning",
     "how Kiln works inside, in lessons of ten minutes",
     "Without a word it lists the lessons and what was done of each. Examples run in this session, so that\n"
     "what is shown is what happens. An exercise is checked after each entry. The lessons are documents,\n"
     "too, in docs/lessons.\n\n"
     "kiln> :lesson\n",
     lesson, no_function("lessons are read and done at the prompt"), "next hint answer check"},
}};

}  // namespace

std::span<const Command> lesson_commands() { return kLessonsCommands; }

}  // namespace kiln::repl

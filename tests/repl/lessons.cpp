// The lessons: each exercise is open before its answer and done after it, and each lesson ends in a picture.
#include <catch2/catch.hpp>
#include <filesystem>

#include "repl/doctest.h"
#include "repl/lesson_progress.h"
#include "repl/session.h"

namespace kiln::lessons_test {

using namespace kiln::repl;

namespace {

std::string run(Session& session, std::string_view entry) {
  const Result result = session.eval(entry);
  return result.output + result.diagnostics;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// The entry that a lesson ends with, without the file that it would write.
std::string picture_of(const Lesson& lesson) {
  for (const Piece& each : pieces_of(lesson.sections.back().text)) {
    if (each.is_code) return each.text.substr(0, each.text.rfind(" lesson-"));
  }
  return "";
}

// A folder for one test, removed with its files.
struct Folder {
  std::string path = std::filesystem::temp_directory_path() / "kiln_lessons_test";
  Folder() {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

}  // namespace

TEST_CASE("exercises are open before their answers and done after them", "[lessons]") {
  REQUIRE(lessons().size() == 13);
  const Folder folder;
  for (const Lesson& lesson : lessons()) {
    Session session(Session::Options{});
    int exercises = 0;
    for (const Section& section : lesson.sections) {
      INFO(lesson.number << " " << section.title);
      for (const Example& each : find_examples(section.text)) session.eval(each.entry);
      if (!section.exercise) continue;
      ++exercises;
      std::string why;
      CHECK_FALSE(holds(session, *section.exercise));
      const std::string printed = run(session, section.exercise->answer);
      INFO(printed);
      const bool done = holds(session, *section.exercise, &why);
      INFO(why);
      CHECK(done);
      CHECK_FALSE(section.exercise->hint.empty());
    }
    INFO(lesson.number);
    CHECK(exercises >= 1);
    const std::string page = folder.path + "/page.html";
    const std::string wrote = run(session, picture_of(lesson) + " " + page);
    CHECK(wrote == "wrote " + page + "\n");
  }
}

TEST_CASE("lessons are in order of their numbers", "[lessons]") {
  for (std::size_t i = 0; i < lessons().size(); ++i) CHECK(lessons()[i].number == static_cast<int>(i) + 1);
}

TEST_CASE("a lesson goes on section by section and checks each entry", "[lessons]") {
  const Folder folder;
  Session::Options options;
  options.state_folder = [&folder] { return folder.path; };
  {
    Session session(options);
    CHECK(contains(run(session, ":lesson hint"), "no exercise is under way"));
    const std::string begun = run(session, ":lesson 1");
    CHECK(contains(begun, "Lesson 1 of 13"));
    CHECK(contains(begun, "Tensors and views"));
    // Examples run: their results are the session's.
    std::string shown;
    while (!contains(shown, "Each entry is checked"))
      shown = run(session, session.goes_on_with_enter() ? "" : ":lesson next");
    CHECK(contains(run(session, "x.shape"), "(2, 3)"));
    CHECK(contains(run(session, ":lesson check"), "It is not yet: `m` is not defined"));
    CHECK_FALSE(run(session, ":lesson hint").empty());
    CHECK_FALSE(contains(run(session, "m = zeros(3, 3)"), "Done"));
    CHECK(contains(run(session, "m.diagonal().fill_(1);"), "Done"));
    CHECK(contains(run(session, ":lesson"), "1 of 2 exercises"));
    CHECK(contains(run(session, ":lesson 99"), "there are lessons 1 to 13"));
    CHECK(contains(run(session, ":lesson one"), "`one` is no lesson"));
  }
  // Another session knows what was done.
  Session later(options);
  CHECK(contains(run(later, ":lesson"), "1 of 2 exercises"));
}

TEST_CASE("a document that is no lesson is refused", "[lessons]") {
  CHECK_THROWS(read_lesson("Tensors\n"));
  CHECK_THROWS(read_lesson("# 1. Tensors\n\n## Exercise: none\n\nDo it.\n"));
}

}  // namespace kiln::lessons_test

// What helps while a cell is written, and what is known of cells that ran.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "notebook/notebook.h"
#include "tests/notebook/recorder.h"

namespace kiln::assistance_test {

using namespace kiln::notebook;

namespace {

std::set<std::string> texts(const CellCandidates& found) {
  std::set<std::string> all;
  for (const auto& each : found.all) all.insert(each.text);
  return all;
}

// A folder of its own, which goes with the test.
struct Folder {
  std::string path;
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "kiln-notebook-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("candidates are those of the prompt, at places counted in characters", "[notebook]") {
  Recorder told;
  Notebook notebook(told, {});
  notebook.run("some_long_name = ones(2, 3)", {});
  const CellCandidates found = notebook.complete("\"ü\"; some_lo", 12);
  CHECK(texts(found) == std::set<std::string>{"some_long_name"});
  CHECK(found.begin == 5);
  CHECK(found.end == 12);
  CHECK(texts(notebook.complete("x = 1\nsome_long_name.fla", 24)).count("flatten") == 1);
  const CellCandidates commands = notebook.complete("x = 1\n:stag", 11);
  CHECK(texts(commands).count("stages") == 1);
  CHECK(commands.begin == 7);
}

TEST_CASE("a name is explained as `?name` does, also within its call", "[notebook]") {
  Recorder told;
  Notebook notebook(told, {});
  const std::string page = notebook.inspect("relu", 2, false).value_or("");
  CHECK(page.find("relu") != std::string::npos);
  CHECK(notebook.inspect("relu(", 5, false).value_or("") == page);
  CHECK(notebook.inspect("y = relu(x, ", 12, false).value_or("") == page);
  notebook.run("fn twice(x) = 2 * x", {});
  CHECK(notebook.inspect("twice", 5, true).value_or("").find("2") != std::string::npos);
  CHECK_FALSE(notebook.inspect("no_such_name_at_all", 3, false));
  CHECK_FALSE(notebook.inspect("   ", 1, false));
  CHECK(told.all.empty());
}

TEST_CASE("cells that ran are found by number, by pattern and by time", "[notebook]") {
  Recorder told;
  Notebook notebook(told, {});
  for (const char* cell : {"x = 1", "x + 1", "x + 1", "x + 2"}) notebook.run(cell, {});
  notebook.run("x + 3", {.kept = false});
  const PastCells& past = notebook.past();
  REQUIRE(past.last(2).size() == 2);
  CHECK(past.last(2)[0].text == "x + 1");
  CHECK(past.last(2)[1].output == "3");
  REQUIRE(past.range(0, 2, 4).size() == 2);
  CHECK(past.range(0, 2, 4)[0].number == 2);
  CHECK(past.matching("x +*", 10, false).size() == 3);
  CHECK(past.matching("x +*", 10, true).size() == 2);
  CHECK(past.matching("x +*", 1, false)[0].text == "x + 2");
  CHECK(past.matching("+", 10, false).empty());
}

TEST_CASE("cells of earlier sessions are one session before this one", "[notebook]") {
  const Folder folder;
  for (const char* cell : {"1", "2"}) {
    Recorder told;
    Notebook notebook(told, {.history_file = folder.path + "/history"});
    notebook.run(cell, {});
    const auto all = notebook.past().last(10);
    CHECK(all.back().session == PastCells::kThis);
    CHECK(all.front().text == "1");
  }
}

TEST_CASE("a notebook that ends without a word leaves its cells to be run again", "[notebook]") {
  const Folder folder;
  const std::string file = folder.path + "/kernel.kiln";
  {
    Recorder told;
    Notebook notebook(told, {.journal = file});
    notebook.run("x = 20\n:type x", {});
    notebook.run("x += nobody", {});
    notebook.run("x += 1", {});
  }
  Recorder told;
  Notebook notebook(told, {.journal = file});
  notebook.run("1", {});
  REQUIRE(told.kinds() == "stderr result");
  const std::string& notice = told.all.front().text;
  const std::string command = notice.substr(notice.find(":load"));
  notebook.run(command, {});
  notebook.run("x", {});
  CHECK(told.all.back().data["text/plain"] == "21");
  CHECK(content(file).find("x += 1") != std::string::npos);
  notebook.forget_journal();
  notebook.run("x = 3", {});
  CHECK(std::filesystem::is_empty(folder.path));
}

}  // namespace kiln::assistance_test

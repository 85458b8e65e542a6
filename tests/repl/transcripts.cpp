// Runs tests/repl/transcripts/*.transcript: "kiln> " lines are entries, "  ... " lines go on, the rest is
// what they print. With KILN_UPDATE=1 in the environment the files are rewritten with what is printed now.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "repl/session.h"

namespace kiln::transcripts_test {

using namespace kiln::repl;

namespace {

constexpr std::string_view kPrompt = "kiln> ", kContinuation = "  ... ";

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The transcript again, with what is printed now. Comment lines ("#") before the first entry stay.
std::string replay(const std::vector<std::string>& lines) {
  std::string text, printed;
  Session::Options options;
  options.out = options.err = [&](std::string_view part) { printed += part; };
  Session session(std::move(options));
  std::size_t i = 0;
  for (; i < lines.size() && !lines[i].starts_with(kPrompt); ++i) text += lines[i] + "\n";
  while (i < lines.size()) {
    std::string entry = lines[i].substr(kPrompt.size());
    text += lines[i++] + "\n";
    for (; i < lines.size() && lines[i].starts_with(kContinuation); ++i) {
      entry += "\n" + lines[i].substr(kContinuation.size());
      text += lines[i] + "\n";
    }
    while (i < lines.size() && !lines[i].starts_with(kPrompt)) ++i;
    printed.clear();
    session.eval(entry);
    text += printed;
  }
  return text;
}

}  // namespace

TEST_CASE("transcripts") {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(KILN_TEST_DIR "/repl/transcripts")) {
    if (entry.path().extension() == ".transcript") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  REQUIRE_FALSE(paths.empty());
  for (const std::string& path : paths) {
    const std::vector<std::string> lines = lines_of(path);
    std::string expected;
    for (const std::string& line : lines) expected += line + "\n";
    const std::string actual = replay(lines);
    if (std::getenv("KILN_UPDATE") != nullptr) {
      std::ofstream(path) << actual;
      continue;
    }
    INFO(path);
    CHECK(actual == expected);
  }
}

}  // namespace kiln::transcripts_test

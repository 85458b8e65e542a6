// What a check finds: every seeded mistake at its line, none where there is none, and nothing of it happens.
#include "interpreter/check/program.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "lang/syntax.h"
#include "tests/effort.h"
#include "tests/leaks.h"

namespace kiln::interp::check::check_test {
namespace {

namespace fs = std::filesystem;
const fs::path kTests = KILN_TEST_DIR;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A check that calls a function with values that it does not know may keep some to the end of the process: a
// known fault, as of a comprehension over an unknown range that is sorted by a function.
Checked check_file(const fs::path& path) {
  const kiln::testing::LeaksAllowed allowed;
  return check_program(path.string(), text_of(path), path.string());
}

Checked check_text(const std::string& text) {
  const kiln::testing::LeaksAllowed allowed;
  return check_program("<test>", text, "");
}

using Mistakes = std::set<std::pair<std::uint32_t, std::string>>;  // line and kind

Mistakes found_in(const fs::path& path) {
  Mistakes found;
  const Checked checked = check_file(path);
  for (const lang::Diagnostic& each : checked.mistakes) {
    const lang::Span place = each.user_place();
    found.emplace(place.file->locate(place.begin).line, each.kind);
  }
  return found;
}

// Those that `#! Kind` behind lines names.
Mistakes seeded_in(const std::string& text) {
  Mistakes seeded;
  std::istringstream lines(text);
  std::string line;
  for (std::uint32_t number = 1; std::getline(lines, line); ++number) {
    const std::size_t mark = line.find("  #! ");
    if (mark != std::string::npos) seeded.emplace(number, line.substr(mark + 5));
  }
  return seeded;
}

std::string shown(const Mistakes& mistakes) {
  std::string text;
  for (const auto& [line, kind] : mistakes) text += std::to_string(line) + " " + kind + "\n";
  return text;
}

std::vector<fs::path> programs_in(const fs::path& folder) {
  std::vector<fs::path> programs;
  for (const auto& each : fs::directory_iterator(folder)) {
    if (each.path().extension() == ".kiln") programs.push_back(each.path());
  }
  std::sort(programs.begin(), programs.end());
  return programs;
}

// Lines of a script that are meant to fail: those before an expectation that begins with `!`.
std::set<std::uint32_t> failing_lines(const std::string& text) {
  std::set<std::uint32_t> failing;
  std::istringstream lines(text);
  std::string line;
  std::uint32_t last_code = 0;
  for (std::uint32_t number = 1; std::getline(lines, line); ++number) {
    if (!line.starts_with("#")) last_code = number;
    if (line.find("# => !") != std::string::npos) failing.insert(last_code);
  }
  return failing;
}

bool is_meant(const lang::Diagnostic& mistake, const std::set<std::uint32_t>& failing) {
  const auto is_failing = [&](lang::Span span) {
    return span.file != nullptr && failing.contains(span.file->locate(span.begin).line);
  };
  if (is_failing(mistake.user_place())) return true;
  return std::any_of(mistake.trace.begin(), mistake.trace.end(),
                     [&](const lang::Frame& frame) { return is_failing(frame.span); });
}

// Looks at one program in `every`.
void finds_nothing_in(const fs::path& folder, std::size_t every = 1) {
  const std::vector<fs::path> programs = programs_in(folder);
  for (std::size_t i = 0; i < programs.size(); i += every) {
    const fs::path& path = programs[i];
    const std::set<std::uint32_t> failing = failing_lines(text_of(path));
    const Checked checked = check_file(path);
    for (const lang::Diagnostic& each : checked.mistakes) {
      if (is_meant(each, failing)) continue;
      FAIL_CHECK("a false alarm in " << path << "\n" << lang::render(each));
    }
  }
}

}  // namespace

TEST_CASE("every seeded mistake is found at its line, and no other", "[check]") {
  std::size_t seeds = 0;
  for (const fs::path& path : programs_in(kTests / "check")) {
    INFO(path);
    const Mistakes seeded = seeded_in(text_of(path));
    CHECK(shown(found_in(path)) == shown(seeded));
    seeds += seeded.size();
  }
  CHECK(seeds >= 60);
}

TEST_CASE("nothing is found in programs that run", "[check]") {
  finds_nothing_in(kTests / ".." / "examples");
  finds_nothing_in(kTests / ".." / "stdlib");
}
TEST_CASE("nothing is found in scripts but where they are meant to fail", "[check]") {
  finds_nothing_in(kTests / "scripts", kiln::testing::kEvery);
}

TEST_CASE("a check does nothing outside", "[check]") {
  const fs::path file = fs::temp_directory_path() / "kiln_check_wrote_this.npy";
  fs::remove(file);
  const Checked checked = check_text("print(\"never shown\")\nsave(\"" + file.string() +
                                     "\", ones(3))\nsleep(1000)\nname = input()\nexit(3)\n");
  CHECK(checked.mistakes.empty());
  CHECK_FALSE(fs::exists(file));
}

TEST_CASE("a check comes to an end", "[check]") {
  CHECK(check_text("n = 0\nwhile true { n += 1 }\n").mistakes.empty());
  CHECK(check_text("while true { }\n").mistakes.empty());
  CHECK(check_text("for i in range(10 ** 12) { x = i }\n").mistakes.empty());
  CHECK(check_text("fn f(n) = f(n + 1) + f(n + 2)\nf(0)\n").mistakes.empty());
  CHECK(check_text("fn f(n) { if n < 2 { return n }; return f(n - 1) + f(n - 2) }\nf(len(args))\n")
            .mistakes.empty());
  CHECK(check_text("x = sum(list(range(10 ** 9)))\n").mistakes.empty());
}

TEST_CASE("both ways of a branch are taken, and what they leave is joined", "[check]") {
  const auto count = [](const std::string& text) { return check_text(text).mistakes.size(); };
  const std::string unknown = "u = ones(1).item() > 0\n";
  CHECK(count(unknown + "if u { zeros(2) + zeros(3) } else { zeros(4) + zeros(5) }\n") == 2);
  CHECK(count(unknown + "x = zeros(2) if u else zeros(3)\nx + zeros(4)\n") == 0);
  CHECK(count(unknown + "x = zeros(2) if u else ones(2)\nx + zeros(4)\n") == 1);
  CHECK(count(unknown + "xs = []\nif u { xs.append(1) }\nxs[0]\n") == 0);
  CHECK(count(unknown + "xs = [1]\nif u { xs[0] = \"a\" }\nxs[0] + 1\nxs.nothing\n") == 1);
  CHECK(count(unknown + "d = {}\nif u { d[\"a\"] = 1 }\nd[\"a\"]\n") == 0);
  CHECK(count(unknown + "n = none\nfor i in range(ones(1).item()) { n = 3 }\nn + 1\n") == 0);
  CHECK(count(unknown + "if u { throw ValueError(\"no\") }\nassert u\nzeros(2) + zeros(3)\n") == 1);
  CHECK(count(unknown + "try { zeros(2) + zeros(3) } catch e { print(e.nothing) }\n") == 1);
  CHECK(count(unknown + "struct S { x = 1 }\ns = S()\nsetattr(s, \"a\", u)\ns.a\ns.b\n") == 1);
}

TEST_CASE("what may fail within a call may come to the handler around it", "[check]") {
  const auto count = [](const std::string& text) { return check_text(text).mistakes.size(); };
  const std::string caught = "fn caught(f) { try { f() } catch e { return \"failed\" }; return \"done\" }\n";
  CHECK(count(caught + "assert caught(() => load(\"nothing.npy\")) == \"failed\"\n") == 0);
  CHECK(count(caught + "assert caught(() => ones(2).sum()) == \"failed\"\n") == 1);
  const std::string perhaps =
      "fn perhaps(u) { if u { throw ValueError(\"no\") }; return 1 }\nu = ones(1).item() > 0\n";
  CHECK(count(caught + perhaps + "assert caught(() => perhaps(u)) == \"failed\"\n") == 0);
  CHECK(count(perhaps + "x = 0\ntry { x = perhaps(u) } catch e { x = none }\nassert x is none\n") == 0);
  CHECK(count(caught + perhaps + "caught(() => perhaps(u))\nzeros(2) + zeros(3)\n") == 1);
  CHECK(count(perhaps +
              "for i in range(3) { try { perhaps(u) } catch e { continue } }\nzeros(2) + zeros(3)\n") == 1);
}

TEST_CASE("nothing is found in programs of ranks", "[check]") {
  for (const fs::path& path : programs_in(kTests / "dist" / "programs")) {
    if (path.stem() == "cards") continue;  // is for cards, which a check does not look for
    INFO(path);
    CHECK(check_file(path).mistakes.empty());
  }
}

TEST_CASE("a program without any of its tokens is checked without a crash", "[check]") {
  for (const char* name : {"training.kiln", "attention.kiln"}) {
    const std::string text = text_of(kTests / "check" / name);
    const std::vector<lang::Token> tokens = lang::lex(text);
    for (std::size_t k = 0; k < tokens.size(); k += 37) {
      std::string without = text;
      without.erase(tokens[k].begin, tokens[k].end - tokens[k].begin);
      CHECK_NOTHROW(check_text(without));
    }
  }
}

}  // namespace kiln::interp::check::check_test

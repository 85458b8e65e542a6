// The parts of the prompt that need no interpreter: options, history, pasted text, examples, columns, the
// screen.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <clocale>
#include <cstdio>
#include <fstream>
#include <set>
#include <thread>

#include "repl/columns.h"
#include "repl/doctest.h"
#include "repl/highlight.h"
#include "repl/history.h"
#include "repl/options.h"
#include "repl/pasted.h"
#include "repl/prompt_mark.h"
#include "repl/screen.h"
#include "repl/terminal.h"
#include "repl/work_note.h"

namespace kiln::parts_test {

using namespace kiln::repl;

namespace {

CommandLine parsed(std::vector<const char*> words) { return parse_command_line(words); }

std::string complaint(std::vector<const char*> words) {
  try {
    parse_command_line(words);
  } catch (const UsageError& error) {
    return error.message + "|" + error.help;
  }
  return "none";
}

struct TemporaryFile {
  std::string path = "/tmp/kiln-test-XXXXXX";
  TemporaryFile() {
    const int descriptor = mkstemp(path.data());
    close(descriptor);
    unlink(path.c_str());
  }
  ~TemporaryFile() { unlink(path.c_str()); }
};

}  // namespace

TEST_CASE("the command line chooses a mode") {
  CHECK(parsed({}).mode == Mode::Prompt);
  CHECK(parsed({"--no-init", "--no-color"}).mode == Mode::Prompt);
  CHECK(parsed({"a.kiln"}).mode == Mode::Script);
  CHECK(parsed({"-"}).script == "-");
  CHECK(parsed({"fmt", "--check", "a.kiln", "b.kiln"}).check);
  CHECK(parsed({"check", "a.kiln"}).mode == Mode::Check);
  CHECK(parsed({"test", "a.kiln"}).files == std::vector<std::string>{"a.kiln"});
  CHECK(parsed({"--version"}).mode == Mode::Version);
  CHECK(parsed({"fmt", "--help"}).mode == Mode::Help);
}

TEST_CASE("a trace is of a program") {
  CHECK(parsed({"--trace", "t.json", "a.kiln"}).trace == "t.json");
  CHECK(parsed({"--trace=t.json", "-e", "1"}).trace == "t.json");
  CHECK(complaint({"--trace", "t.json"}) ==
        "`--trace` goes with programs|`kiln --trace trace.json f.kiln`; at the prompt `:trace trace.json`");
  CHECK(complaint({"--trace", "t.json", "check", "a.kiln"}).starts_with("`--trace` goes with programs"));
  CHECK(complaint({"--trace", "a.kiln", "b.kiln"})
            .starts_with("`--trace` would write over the program `a.kiln`"));
  CHECK(complaint({"--trace=", "a.kiln"}) == "`--trace` needs a value|`--trace file`");
}

TEST_CASE("a trace may be asked for behind the program") {
  for (const CommandLine& line :
       {parsed({"a.kiln", "x", "--trace", "t.json", "-y"}), parsed({"a.kiln", "x", "--trace=t.json", "-y"}),
        parsed({"report", "a.kiln", "x", "--trace", "t.json", "-y"})}) {
    CHECK(line.trace == "t.json");
    CHECK(line.arguments == std::vector<std::string>{"x", "-y"});
  }
  CHECK(complaint({"a.kiln", "--trace"}) == "`--trace` needs a value|`--trace file`");
  const CommandLine own = parsed({"--", "a.kiln", "--trace", "t"});
  CHECK(own.trace.empty());
  CHECK(own.arguments == std::vector<std::string>{"--trace", "t"});
}

TEST_CASE("options may stand before a tool") {
  CHECK(parsed({"--no-color", "check", "a.kiln"}).mode == Mode::Check);
  CHECK(parsed({"--", "check"}).script == "check");
  const CommandLine run = parsed({"--trace", "t.json", "run", "-n", "2", "a.kiln"});
  CHECK(run.mode == Mode::Run);
  CHECK(run.options_before == std::vector<std::string>{"--trace", "t.json"});
  CHECK(run.arguments == std::vector<std::string>{"-n", "2", "a.kiln"});
  const CommandLine report = parsed({"--threads", "1", "report", "-o", "p.html", "--no-hot", "a.kiln", "-o"});
  CHECK(report.threads == "1");
  CHECK(report.no_hot);
  CHECK(report.output == "p.html");
  CHECK(report.arguments == std::vector<std::string>{"-o"});
}

TEST_CASE("kiln build takes a program and a function, and leaves the rest to what builds") {
  const CommandLine line =
      parsed({"build", "a.kiln", "--shape", "f32[2]", "--entry", "f", "-o", "f.so", "f.h"});
  CHECK(line.mode == Mode::Build);
  CHECK(line.script == "a.kiln");
  CHECK(line.entry == "f");
  CHECK(line.arguments == std::vector<std::string>{"--shape", "f32[2]", "-o", "f.so", "f.h"});
  CHECK(parsed({"build", "--help"}).mode == Mode::Help);
  CHECK(complaint({"build"}) == "`kiln build` needs a program|`kiln build f.kiln --entry f -o f.so f.h`");
  CHECK(complaint({"build", "a.kiln", "--entry", "f()"}) ==
        "`kiln build` needs the name of a function, which C can have, too|"
        "`kiln build a.kiln --entry f -o f.so f.h`");
}

TEST_CASE("what follows the program belongs to the program") {
  const CommandLine line = parsed({"--threads=2", "a.kiln", "--json", "-e", "x"});
  CHECK(line.threads == "2");
  CHECK_FALSE(line.json);
  CHECK(line.arguments == std::vector<std::string>{"--json", "-e", "x"});
  CHECK(parsed({"-e", "1", "x", "--json"}).arguments == std::vector<std::string>{"x", "--json"});
  CHECK(parsed({"--", "-odd.kiln"}).script == "-odd.kiln");
}

TEST_CASE("code may come in several pieces, and the prompt after it") {
  const CommandLine line = parsed({"-e", "x = 1", "-e", "x", "-i"});
  CHECK(line.mode == Mode::Code);
  CHECK(line.code == "x = 1\nx");
  CHECK(line.prompt_after);
}

TEST_CASE("a wrong command line says what is wrong and what was meant") {
  CHECK(complaint({"--jsn"}) == "there is no option `--jsn`|did you mean `--json`?");
  CHECK(complaint({"--threads"}) == "`--threads` needs a value|`--threads n`");
  CHECK(complaint({"--json=yes"}) == "`--json` takes no value|");
  CHECK(complaint({"fmt"}) == "`kiln fmt` needs files|");
  CHECK(parsed({"--check", "a.kiln"}).check);
  CHECK(complaint({"test", "--check", "a.kiln"}) ==
        "`--check` goes with programs and `kiln fmt`, not with `kiln test`|");
  CHECK(complaint({"--backend", "warp"}) ==
        "there is no backend `warp`|backends are \"fused\", \"aot_eager\" and \"eager\"");
  CHECK(complaint({"-x"}).starts_with("there is no option `-x`"));
}

TEST_CASE("history keeps whole entries, newest of equals, within its bound, in a private file") {
  const TemporaryFile file;
  {
    History history(file.path, 4);
    for (const char* entry : {"a", "fn f(x) {\n  x\n}", "b\\n", "a", "  ", ""}) history.add(entry);
    CHECK(history.entries() == std::vector<std::string>{"fn f(x) {\n  x\n}", "b\\n", "a"});
  }
  struct stat status{};
  REQUIRE(stat(file.path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  {
    History history(file.path, 4);
    CHECK(history.entries() == std::vector<std::string>{"fn f(x) {\n  x\n}", "b\\n", "a"});
    history.add("c");
    history.add("d");
    CHECK(history.entries() == std::vector<std::string>{"b\\n", "a", "c", "d"});
  }
  CHECK(History(file.path, 2).entries() == std::vector<std::string>{"c", "d"});
}

TEST_CASE("sessions side by side lose nothing of each other's history, also while one shortens the file") {
  const TemporaryFile file;
  constexpr int kEach = 100;
  constexpr std::size_t kMost = 400;
  const auto write = [&](const std::string& name) {
    for (int i = 0; i < kEach; ++i) {
      // Each one reads, and now and then shortens, what all have written.
      History history(file.path, kMost);
      history.add(name + std::to_string(i));
      history.add("again");
    }
  };
  std::thread first(write, "a"), second(write, "b");
  first.join();
  second.join();
  const std::vector<std::string> entries = History(file.path, kMost).entries();
  CHECK(std::set<std::string>(entries.begin(), entries.end()).size() == 2 * kEach + 1);
}

TEST_CASE("an entry that was cut short by a kill does not take the next with it") {
  const TemporaryFile file;
  std::ofstream(file.path) << "whole\nhal";
  History(file.path).add("next");
  CHECK(History(file.path).entries() == std::vector<std::string>{"whole", "hal", "next"});
}

TEST_CASE("a history file that cannot be used is no obstacle") {
  History history("/nonexistent/folder/history");
  history.add("x");
  CHECK(history.entries().size() == 1);
}

TEST_CASE("the hint is the rest of the newest entry that begins so") {
  History history("");
  history.add("x = ones(3)");
  history.add("x = zeros(3)");
  CHECK(history.hint("x = ") == "zeros(3)");
  CHECK(history.hint("x = o") == "nes(3)");
  CHECK(history.hint("x = zeros(3)").empty());
  CHECK(history.hint("").empty());
}

TEST_CASE("pasted transcripts lose prompts and results") {
  CHECK(split_pasted("x = 1") == std::vector<std::string>{"x = 1"});
  CHECK(split_pasted("kiln> x = 1") == std::vector<std::string>{"x = 1"});
  CHECK(split_pasted(">>> x = 1\n>>> x\n1\n") == std::vector<std::string>{"x = 1", "x"});
  CHECK(split_pasted("kiln> fn f(x) {\n  ...   x\n  ... }\nkiln> f(2)\n2") ==
        std::vector<std::string>{"fn f(x) {\n  x\n}", "f(2)"});
  CHECK(split_pasted("kiln 9> fn f(x) {\n    ...   x\n    ... }\nkiln 10> f(2)\n2") ==
        std::vector<std::string>{"fn f(x) {\n  x\n}", "f(2)"});
  CHECK(split_pasted(">>> f(1,\n  2)\n3") == std::vector<std::string>{"f(1,\n  2)"});
  CHECK(split_pasted(">>>\n>>> y") == std::vector<std::string>{"", "y"});
  // Shifts and texts that merely contain a prompt stay.
  CHECK(split_pasted("a >>> b") == std::vector<std::string>{"a >>> b"});
  CHECK(split_pasted(">>>x") == std::vector<std::string>{">>>x"});
  CHECK(split_pasted("kiln 9 > 8") == std::vector<std::string>{"kiln 9 > 8"});
  CHECK(split_pasted("kiln >8") == std::vector<std::string>{"kiln >8"});
}

TEST_CASE("prompts are as wide as their continuation") {
  CHECK(prompt_mark(0) == "kiln> ");
  CHECK(continuation_mark(0) == "  ... ");
  CHECK(prompt_mark(18) == "kiln 18> ");
  CHECK(continuation_mark(18) == "     ... ");
  CHECK(prompt_length("kiln 18> x") == 9);
  CHECK(prompt_length("kiln>") == 5);
  CHECK(prompt_length(">>> x") == 4);
  CHECK(prompt_length("kiln 18 > x") == 0);
  CHECK(prompt_length("x") == 0);
}

TEST_CASE("examples are read from documentation") {
  const auto examples =
      find_examples("Adds.\n\n>>> f(1)\n2\n>>> g(\n...   3)\nf32[2]\n [1]\n\nWords.\n>>> h()\n");
  REQUIRE(examples.size() == 3);
  CHECK(examples[0].entry == "f(1)");
  CHECK(examples[0].expected == "2");
  CHECK(examples[1].entry == "g(\n  3)");
  CHECK(examples[1].expected == "f32[2]\n [1]");
  CHECK(examples[2].expected.empty());
  CHECK(same_output("a\nb", "a  \nb\n\n"));
  CHECK_FALSE(same_output("a", "a\nb"));
}

TEST_CASE("words are set in columns, downwards") {
  CHECK(in_columns({"a", "b", "c"}, 8) == "a  c\nb\n");
  CHECK(in_columns({"long", "b"}, 3) == "long\nb\n");
  CHECK(in_columns({}, 80).empty());
}

TEST_CASE("sentences are broken between words, code is not") {
  CHECK(wrapped("one two three four five", 20) == "one two three four\nfive");
  CHECK(wrapped("names: alpha beta gamma", 20, 2) == "names: alpha beta\n  gamma");
  CHECK(wrapped("alpha beta gamma", 20, 4, 12) == "alpha\n    beta gamma");
  CHECK(wrapped(">>> a b c d e f g h i j k l m\nx", 20) == ">>> a b c d e f g h i j k l m\nx");
  CHECK(wrapped("a\n\nb\n", 20) == "a\n\nb\n");
  CHECK(wrapped("", 20).empty());
}

TEST_CASE("colours cover the text without gaps") {
  const std::string text = "fn f(x) = x + 1.5  # note";
  std::size_t at = 0;
  for (const StyledRun& run : highlight(text)) {
    CHECK(run.begin == at);
    at = run.end;
  }
  CHECK(at == text.size());
  CHECK(colored_source("if").find("\x1b[35mif") == 0);
  CHECK(highlight(":time x").front().style == style::kPrompt);
}

TEST_CASE("brackets find their partners, not those in strings") {
  const std::string text = "f([1, \")\"], x)";
  const auto pair_at = [&](std::size_t cursor) { return matching_bracket(text, cursor).partner; };
  CHECK(pair_at(1) == text.size() - 1);
  CHECK(pair_at(text.size()) == 1);
  CHECK(pair_at(10) == 2);
  CHECK(matching_bracket("(]", 2).at == 1);
  CHECK(matching_bracket("(]", 2).partner == std::string::npos);
  CHECK(matching_bracket("abc", 1).at == std::string::npos);
}

namespace {

Screen laid_out(std::string_view text, std::size_t cursor, int columns, std::string_view hint = {}) {
  std::setlocale(LC_CTYPE, "C.UTF-8");
  return lay_out({"> ", ". ", text, cursor, hint, false, false}, columns);
}

}  // namespace

TEST_CASE("an entry is laid out in rows") {
  const Screen one = laid_out("ab", 1, 10);
  CHECK(one.rows == std::vector<std::string>{"> ab"});
  CHECK(one.cursor_row == 0);
  CHECK(one.cursor_column == 3);
  const Screen two = laid_out("a\nb", 3, 10);
  CHECK(two.rows == std::vector<std::string>{"> a", ". b"});
  CHECK(two.cursor_row == 1);
  CHECK(two.cursor_column == 3);
}

TEST_CASE("long lines wrap, wide characters are not cut") {
  CHECK(laid_out("abcdef", 0, 5).rows == std::vector<std::string>{"> abc", "def"});
  const Screen full = laid_out("abc", 3, 5);
  CHECK(full.cursor_row == 1);
  CHECK(full.cursor_column == 0);
  CHECK(laid_out("ab漢", 0, 5).rows == std::vector<std::string>{"> ab", "漢"});
  CHECK(laid_out("é", 2, 10).cursor_column == 3);
  CHECK(laid_out("\x01", 1, 10).rows == std::vector<std::string>{"> ^A"});
  CHECK(laid_out("\xff", 1, 10).rows == std::vector<std::string>{"> \xef\xbf\xbd"});
}

TEST_CASE("the hint stands after the text and moves no cursor") {
  const Screen screen = laid_out("ab", 2, 10, "cd\ne");
  CHECK(screen.rows == std::vector<std::string>{"> abcd …"});
  CHECK(screen.cursor_row == 0);
  CHECK(screen.cursor_column == 4);
  CHECK(laid_out("ab", 2, 10, "cdefgh").rows == std::vector<std::string>{"> abcdefgh"});
  CHECK(laid_out("ab", 2, 10, "cdefghi").rows == std::vector<std::string>{"> abcdefg…"});
  CHECK(laid_out("ab", 2, 10, "漢字漢字").rows == std::vector<std::string>{"> ab漢字…"});
  CHECK(laid_out("ab", 2, 5, "cdefgh").rows == std::vector<std::string>{"> ab…"});
}

TEST_CASE("the terminal wraps full rows itself, so that it wraps them anew when its size changes") {
  int row = 0;
  CHECK(draw(laid_out("abcdef\ng", 0, 5), 0, 10, 5, row).find("> abc \rdef\x1b[K\r\n. g") !=
        std::string::npos);
  CHECK(draw(laid_out("ab漢", 0, 5), 0, 10, 5, row).find("> ab\x1b[K\r\n漢") != std::string::npos);
}

TEST_CASE("of a screen higher than the terminal the part around the cursor is drawn") {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "\n" + std::to_string(i);
  int row = 0;
  const Screen screen = laid_out(text, text.size(), 20);
  const std::string drawn = draw(screen, 0, 5, 20, row);
  CHECK(row == 4);
  CHECK(drawn.find(". 29") != std::string::npos);
  CHECK(drawn.find(". 10") == std::string::npos);
}

TEST_CASE("NO_COLOR wins over CLICOLOR_FORCE") {
  setenv("CLICOLOR_FORCE", "1", 1);
  unsetenv("NO_COLOR");
  CHECK(wants_color(-1));
  setenv("NO_COLOR", "1", 1);
  CHECK_FALSE(wants_color(-1));
  unsetenv("NO_COLOR");
  setenv("CLICOLOR_FORCE", "0", 1);
  CHECK_FALSE(wants_color(-1));
  unsetenv("CLICOLOR_FORCE");
}

TEST_CASE("a note says the phase and the function that it is for") {
  using kiln::timeline::Kind;
  using kiln::timeline::Phase;
  const Phase run{Kind::Run, "<prompt:1>"}, capture{Kind::Capture, "f"}, compile{Kind::Compile, "f"};
  const Phase code{Kind::Compile, "fuse", 3, 7}, derivative{Kind::Compile, "differentiate"};
  const Phase wait{Kind::Wait, "for compilation behind the program"};
  const auto text = [](std::vector<Phase> phases) { return phase_text(phases); };
  CHECK(text({}) == "running");
  CHECK(text({run}) == "running");
  CHECK(text({run, capture}) == "capturing f");
  CHECK(text({run, capture, compile}) == "compiling f…");
  CHECK(text({run, compile, code}) == "compiling f… 3/7 kernels");
  CHECK(text({run, compile, derivative}) == "differentiating f");
  CHECK(text({run, wait}) == "waiting for kernels");
}

}  // namespace kiln::parts_test

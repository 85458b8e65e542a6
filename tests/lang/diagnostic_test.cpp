// How diagnostics are drawn, and the search for near names.
#include <catch2/catch.hpp>

#include "lang/diagnostic.h"

namespace kiln::diagnostic_test {

using namespace kiln::lang;

namespace {

// A label under the first place of `text` at or after `from`.
Label under(const SourceFile& file, std::string_view text, std::string note = "", std::size_t from = 0) {
  const auto at = static_cast<std::uint32_t>(file.text().find(text, from));
  return {{&file, at, at + static_cast<std::uint32_t>(text.size())}, std::move(note)};
}

}  // namespace

TEST_CASE("the example of the prompt's description") {
  const std::string lines =
      std::string(11, '\n') + "    h = x @ w2\n" + std::string(7, '\n') + "train()\n  mlp()\n";
  const SourceFile file("mlp.kiln", lines);
  Diagnostic d{"ShapeError",
               "cannot multiply f32[32, 784] by f32[128, 10]: inner sizes 784 and 128 differ",
               {},
               "",
               {}};
  d.labels = {under(file, "@"), under(file, "x", "x: f32[32, 784], parameter of mlp"),
              under(file, "w2", "w2: f32[128, 10], from mlp.kiln:8")};
  d.help = "`w1` is f32[784, 128]; did you mean `x @ w1`?";
  d.trace = {{d.labels[0].span, "mlp"}, {under(file, "train").span, "train"}};
  CHECK(render(d) ==
        "ShapeError: cannot multiply f32[32, 784] by f32[128, 10]: inner sizes 784 and 128 differ\n"
        "  --> mlp.kiln:12:11\n"
        "   |\n"
        "12 |     h = x @ w2\n"
        "   |         ^ ^ -- w2: f32[128, 10], from mlp.kiln:8\n"
        "   |         x: f32[32, 784], parameter of mlp\n"
        "help: `w1` is f32[784, 128]; did you mean `x @ w1`?\n"
        "called from mlp.kiln:20:1 in train\n"
        "  | train()\n");
}

TEST_CASE("the line of the program stands for that of the library, which the full trace shows behind it") {
  const SourceFile program("mine.kiln", "fn f(x) = layer(x)\nf(1)\n"),
      library("<nn>", "linear(x, w)\n", true);
  Diagnostic d{"ShapeError", "no", {under(library, "x", "x: f32[2]")}, "", {}};
  d.trace = {{d.labels[0].span, "Linear.call"},
             {under(program, "layer(x)").span, "f"},
             {under(program, "f(1)").span, ""}};
  CHECK(d.library_calls() == 1);
  CHECK(d.user_place().file == &program);
  CHECK(render(d) ==
        "ShapeError: no\n"
        " --> mine.kiln:1:11\n"
        "  |\n"
        "1 | fn f(x) = layer(x)\n"
        "  |           ^^^^^^^^\n"
        "called from mine.kiln:2:1\n"
        "  | f(1)\n");
  const std::string full = render(d, {.full_trace = true});
  CHECK(full.find(" --> <nn>:1:8 in Linear.call\n"
                  "  |\n"
                  "1 | linear(x, w)\n"
                  "  |        ^ x: f32[2]\n") != std::string::npos);
  CHECK(full.find("called from mine.kiln:1:11 in f\n") != std::string::npos);
  d.trace.resize(1);  // the library alone
  CHECK(d.user_place().file == &library);
}

TEST_CASE("several texts hang from the right") {
  const SourceFile file("a", "alpha + beta + gamma");
  Diagnostic d{"TypeError",
               "no",
               {under(file, "beta", "B"), under(file, "alpha", "A"), under(file, "gamma", "C")},
               "",
               {}};
  CHECK(render(d) ==
        "TypeError: no\n"
        " --> a:1:9\n"
        "  |\n"
        "1 | alpha + beta + gamma\n"
        "  | -----   ^^^^   ----- C\n"
        "  | |       B\n"
        "  | A\n");
}

TEST_CASE("labels of other lines and files have their own snippets") {
  const SourceFile file("a", "one\ntwo\n");
  const SourceFile other("b", "three\n");
  Diagnostic d{"TypeError",
               "no",
               {under(file, "two"), under(file, "one", "here"), under(other, "three", "there")},
               "",
               {}};
  CHECK(render(d) ==
        "TypeError: no\n"
        " --> a:2:1\n"
        "  |\n"
        "2 | two\n"
        "  | ^^^\n"
        " --> a:1:1\n"
        "  |\n"
        "1 | one\n"
        "  | --- here\n"
        " --> b:1:1\n"
        "  |\n"
        "1 | three\n"
        "  | ----- there\n");
}

TEST_CASE("a diagnostic without a place is its sentence") {
  CHECK(render({"IOError", "no such file", {}, "look", {}}) == "IOError: no such file\nhelp: look\n");
}

TEST_CASE("tabs, wide characters and combining marks keep carets in place") {
  const SourceFile file("a", "\tx = 日本 + e\u0301 + y");
  CHECK(render({"E", "m", {under(file, "y")}, "", {}}) ==
        "E: m\n --> a:1:16\n  |\n1 |     x = 日本 + e\u0301 + y\n  |                    ^\n");
  CHECK(render({"E", "m", {under(file, "日本")}, "", {}}) ==
        "E: m\n --> a:1:6\n  |\n1 |     x = 日本 + e\u0301 + y\n  |         ^^^^\n");
}

TEST_CASE("bytes that cannot be drawn are replaced") {
  const SourceFile file("a", std::string("a\x1b[31m\xff") + "b");
  CHECK(render({"E", "m", {under(file, "b")}, "", {}}) ==
        "E: m\n --> a:1:8\n  |\n1 | a\uFFFD[31m\uFFFDb\n  |        ^\n");
}

TEST_CASE("a span over several lines is marked on its first") {
  const SourceFile file("a", "f(1,\n  2)\n");
  CHECK(render({"E", "m", {{{&file, 0, 9}, "all of it"}}, "", {}}) ==
        "E: m\n --> a:1:1\n  |\n1 | f(1,\n  | ^^^^ all of it\n");
}

TEST_CASE("places at and past the end of the file are drawn") {
  const SourceFile file("a", "ab");
  CHECK(render({"E", "m", {{{&file, 2, 2}, ""}}, "", {}}) == "E: m\n --> a:1:3\n  |\n1 | ab\n  |   ^\n");
  const SourceFile empty("a", "");
  CHECK(render({"E", "m", {{{&empty, 0, 0}, ""}}, "", {}}) == "E: m\n --> a:1:1\n  |\n1 |\n  | ^\n");
}

TEST_CASE("a long line is shown around its first mark") {
  const SourceFile file("a", std::string(5000, 'a') + " HERE " + std::string(5000, 'b'));
  const std::string text = render({"E", "m", {under(file, "HERE", "this")}, "", {}});
  CHECK(text.size() < 400);
  CHECK(text.find("HERE") != std::string::npos);
  CHECK(text.find("1 | …") != std::string::npos);
  // The caret stands below the word.
  const std::size_t line = text.find("1 | ");
  const std::size_t marks = text.find("\n", line) + 1;
  const std::size_t shown = text.find("HERE") - line - std::string("…").size() + 1;
  CHECK(text.find("^^^^ this") - marks == shown);
}

TEST_CASE("labels out of the window do not break the picture") {
  const SourceFile file("a", "x" + std::string(9000, ' ') + "y");
  const std::string text = render({"E", "m", {under(file, "y", "why"), under(file, "x", "ex")}, "", {}});
  CHECK(text.find("why") != std::string::npos);
  CHECK(text.find("ex") != std::string::npos);
}

TEST_CASE("a long trace is folded in its middle unless all of it is wanted") {
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += "f()\n";
  const SourceFile file("a", lines);
  Diagnostic d{"E", "m", {{{&file, 0, 1}, ""}}, "", {}};
  for (std::uint32_t i = 0; i < 30; ++i)
    d.trace.push_back({{&file, 4 * i, 4 * i + 1}, "f" + std::to_string(i)});
  const std::string folded = render(d);
  CHECK(folded.find("in f1\n") != std::string::npos);
  CHECK(folded.find("in f29\n") != std::string::npos);
  CHECK(folded.find("in f15\n") == std::string::npos);
  CHECK(folded.find("… 19 more calls\n") != std::string::npos);
  CHECK(render(d, {false, true}).find("in f15\n") != std::string::npos);
}

TEST_CASE("a call that repeats is counted") {
  const SourceFile file("a", "f()\n");
  Diagnostic d{"E", "m", {{{&file, 0, 1}, ""}}, "", {}};
  for (int i = 0; i < 1000; ++i) d.trace.push_back({{&file, 0, 3}, "f"});
  CHECK(render(d).find("called from a:1:1 in f (999 times)\n") != std::string::npos);
}

TEST_CASE("colour adds escape sequences only when asked") {
  const SourceFile file("a", "x\n");
  const Diagnostic d{"E", "m", {under(file, "x", "t")}, "h", {}};
  CHECK(render(d).find('\x1b') == std::string::npos);
  CHECK(render(d, {true, false}).find("\x1b[1;31mE\x1b[0m") != std::string::npos);
}

TEST_CASE("as JSON") {
  const SourceFile file("a \"b\"", "é + x\n");
  Diagnostic d{"TypeError", "no\nway", {under(file, "x", "t")}, "h", {{{&file, 0, 2}, "f"}}};
  CHECK(
      render_json(d) ==
      R"({"kind":"TypeError","code":"K0300","message":"no\nway","file":"a \"b\"","line":1,"column":5,"end_line":1,"end_column":6,)"
      R"("labels":[{"file":"a \"b\"","line":1,"column":5,"end_line":1,"end_column":6,"text":"t"}],"help":"h",)"
      R"("trace":[{"file":"a \"b\"","line":1,"column":1,"end_line":1,"end_column":2,"function":"f"}]})");
  CHECK(render_json({"E", "\xff", {}, "", {}}).find("\uFFFD") != std::string::npos);
}

TEST_CASE("the nearest name is one slip away, or near in proportion") {
  const std::vector<std::string_view> names = {"relu", "zeros", "reshape", "sum", "Linear", "cross_entropy"};
  CHECK(nearest("rleu", names) == "relu");
  CHECK(nearest("zeroes", names) == "zeros");
  CHECK(nearest("reshap", names) == "reshape");
  CHECK(nearest("linear", names) == "Linear");
  CHECK(nearest("SUM", names) == "sum");
  CHECK(nearest("crossentropy", names) == "cross_entropy");
  CHECK(nearest("xyz", names).empty());
  CHECK(nearest("a", names).empty());
  CHECK(nearest("", names).empty());
  CHECK(nearest("sum", {}).empty());
  CHECK(nearest("conv2", {"conv1d", "conv2d"}) == "conv2d");
}

TEST_CASE("names of other languages are translated") {
  CHECK(suggest("None", {}) == "write `none`");
  CHECK(suggest("True", {}) == "write `true`");
  CHECK(suggest("rleu", {"relu"}) == "did you mean `relu`?");
  CHECK(suggest("qqq", {"relu"}).empty());
}

}  // namespace kiln::diagnostic_test

// When loops run as flow graphs, and when they do not.
#include <catch2/catch.hpp>
#include <string>

#include "interpreter/interpreter.h"
#include "tensor/interrupt.h"

namespace kiln::interp::flow_place_test {
namespace {

class Program {
 public:
  // Loops run as flow graphs at once, unless functions are hot after so many ops.
  explicit Program(bool evaluates = true, int hot_after = -1) : interpreter_(options(evaluates, hot_after)) {}

  std::string value_of(const std::string& text) {
    return interpreter_.repr(interpreter_.run("<test>", text).value);
  }
  std::string error_of(const std::string& text) {
    try {
      interpreter_.run("<test>", text);
    } catch (const lang::UserError& error) {
      return error.diagnostic().kind + ": " + error.diagnostic().message;
    }
    return "none";
  }
  // The forms in which the loops of `f` run; "[]" where they are no flow graphs.
  std::string forms_of(const std::string& f) {
    return value_of("[form for each in compile_info(" + f + ").loops for form in each.forms]");
  }

 private:
  static Options options(bool evaluates, int hot_after) {
    Options options;
    options.out = [](std::string_view) {};
    options.err = options.out;
    options.hot_after = hot_after;
    if (hot_after < 0) options.hot_trips = 0;
    options.evaluates_flows = evaluates;
    return options;
  }
  Interpreter interpreter_;
};

constexpr const char* kSum =
    "fn total(n) {\n"
    "  t = 0\n"
    "  for i in range(n) { t += i }\n"
    "  return t\n"
    "}\n";
constexpr const char* kStepByStep = "['step by step']";

bool mentions(const std::string& text, std::string_view what) { return text.find(what) != std::string::npos; }

}  // namespace

TEST_CASE("functions of numbers that have the name of an op make no code hot", "[interp][flow]") {
  constexpr int kHotAfter = 20;
  Program program(true, kHotAfter);
  program.value_of(
      "fn most(first, n) {\n"
      "  m = first\n"
      "  for i in range(n) { m = max(m, first) }\n"
      "  return m\n"
      "}\n");
  CHECK(program.value_of("[most(2, 5) for k in range(50)][0]") == "2");
  CHECK(program.value_of("compile_info(most).loops") == "[]");
  program.value_of("[most(ones(3), 5) for k in range(50)][0]");
  CHECK(program.value_of("len(compile_info(most).loops)") == "1");
}

TEST_CASE("a loop of numbers runs as a flow graph, and tells how", "[interp][flow]") {
  Program program;
  program.value_of(kSum);
  CHECK(program.value_of("total(20)") == "190");
  CHECK(program.forms_of("total") == kStepByStep);
  CHECK(program.value_of("compile_info(total).loops[0].trips") == "20");
  CHECK(program.value_of("[(e.reason, e.count) for e in compile_info(total).loops[0].exits]") ==
        "[('the loop is done', 1)]");
  const std::string why = program.value_of("why(total)");
  CHECK(mentions(why, "its loop at <test>:3 runs as step by step: once, 20 trips"));
  CHECK(mentions(why, "it left once because the loop is done"));
}

TEST_CASE("a flow graph becomes machine code", "[interp][flow]") {
  Program program(false);
  program.value_of(kSum);
  CHECK(program.value_of("total(20)") == "190");
  CHECK(program.forms_of("total") == "['machine code']");
}

TEST_CASE("loops count before they are read, however often they begin", "[interp][flow]") {
  Program program(true, 300);
  program.value_of(kSum);
  program.value_of("total(99_000)");
  CHECK(program.forms_of("total") == "[]");
  CHECK(program.value_of("total(2_000)") == "1999000");
  CHECK(program.forms_of("total") == kStepByStep);
  program.value_of("fn down(n) { while n > 0 { n -= 1 }; return n }\ndown(50_000)");
  CHECK(program.forms_of("down") == "[]");
  program.value_of("down(60_000)");
  CHECK(program.forms_of("down") == kStepByStep);
}

TEST_CASE("the loop around one that is a flow graph becomes one, too", "[interp][flow]") {
  Program program;
  program.value_of(
      "fn pairs(n) {\n"
      "  t = 0\n"
      "  for i in range(n) {\n"
      "    for j in range(i) { t += i * j }\n"
      "  }\n"
      "  return t\n"
      "}\n");
  CHECK(program.value_of("pairs(9)") == "546");
  CHECK(mentions(program.value_of("why(pairs)"), "its loop at <test>:3 runs as"));
}

TEST_CASE("an error is raised at its place, with all before it done", "[interp][flow]") {
  Program program;
  program.value_of("x = zeros(3)");
  CHECK(program.error_of("for i in range(5) { x[i] = i + 1.0 }") ==
        "IndexError: index 3 is out of bounds for dimension 0 with size 3");
  CHECK(program.value_of("(i, x.tolist())") == "(3, [1.0, 2.0, 3.0])");
}

TEST_CASE("Ctrl-C stops a loop that is a flow graph", "[interp][flow]") {
  for (const bool evaluates : {true, false}) {
    Program program(evaluates);
    program.value_of(kSum);
    program.value_of("total(20)");
    let_interrupt_pass(50);
    interrupt_requested = true;
    CHECK(program.error_of("total(1_000_000_000_000)") == std::string("Interrupted: ") + kInterrupted);
    interrupt_requested = false;
    let_interrupt_pass(0);
    CHECK(program.value_of("total(20)") == "190");
  }
}

TEST_CASE("code that is compiled in another way, or never, has no flow graphs", "[interp][flow]") {
  Program program;
  const std::string body =
      "(n) {\n"
      "  t = 0\n"
      "  for i in range(n) { t += i }\n"
      "  return t\n"
      "}\n";
  program.value_of("@eager fn plain" + body + "plain(20)");
  CHECK(program.forms_of("plain") == "[]");
  program.value_of("@jit(backend=\"eager\") fn other" + body + "other(20)\nother(30)");
  CHECK(program.forms_of("other") == "['one node of its graph']");
  program.value_of("fn paused" + body + "with no_compile() { paused(20) }");
  CHECK(program.forms_of("paused") == "[]");
  program.value_of("paused(20)");
  CHECK(program.forms_of("paused") == kStepByStep);
  program.value_of("reset_compiled(paused)");
  CHECK(program.forms_of("paused") == "[]");
  CHECK(program.value_of("paused(20)") == "190");
}

TEST_CASE("gradients that are recorded, and transforms, are the interpreter's", "[interp][flow]") {
  Program program;
  program.value_of(
      "fn squares(x) {\n"
      "  t = 0.0\n"
      "  for i in range(len(x)) { t = t + x[i] * x[i] }\n"
      "  return t\n"
      "}\n");
  CHECK(program.value_of("squares(tensor([1.0, 2.0])).item()") == "5.0");
  CHECK(program.value_of("grad(squares)(tensor([1.0, 2.0])).tolist()") == "[2.0, 4.0]");
  CHECK(program.value_of("w = tensor([1.0, 3.0]).requires_grad_()\nsquares(w).backward()\nw.grad.tolist()") ==
        "[2.0, 6.0]");
}

TEST_CASE("a loop that cannot be read says why, and runs as before", "[interp][flow]") {
  Program program;
  program.value_of(
      "fn texts(n) {\n"
      "  t = \"\"\n"
      "  for i in range(n) { t = t + str(i) }\n"
      "  return t\n"
      "}\n");
  CHECK(program.value_of("texts(60)[:5]") == "'01234'");
  CHECK(program.forms_of("texts") == "[]");
  CHECK(mentions(program.value_of("why(texts)"), "its loop at <test>:3 does not run as machine code: "));
}

TEST_CASE("a loop of other types is read again", "[interp][flow]") {
  Program program;
  program.value_of(
      "fn last(x, n) {\n"
      "  for i in range(n) { x[i] = i }\n"
      "  return x\n"
      "}\n");
  CHECK(program.value_of("last(zeros(3), 3).tolist()") == "[0.0, 1.0, 2.0]");
  CHECK(program.value_of("last(zeros(40, dtype=i64), 40)[39].item()") == "39");
  CHECK(program.value_of("last(zeros(40, dtype=f64), 40)[39].item()") == "39.0");
  CHECK(program.forms_of("last") == kStepByStep);
}

}  // namespace kiln::interp::flow_place_test

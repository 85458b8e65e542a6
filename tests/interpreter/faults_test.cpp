// What the user sees of a pass that is wrong: it is told, with a program, and the call does what it is to do.
#include <catch2/catch.hpp>

#include <string>

#include "interpreter/interpreter.h"
#include "jit/passes/no_compiler.h"
#include "jit/passes/run_recipe.h"
#include "tensor/error.h"

namespace kiln::faults_test {

using namespace kiln::interp;

namespace {

jit::Graph fails(jit::Graph, const jit::PassOptions&) { throw InternalError("the test wants this"); }
jit::Graph has_no_compiler(jit::Graph, const jit::PassOptions&) { throw jit::NoCompiler("there is none"); }

struct Shown {
  std::string out, err;
};
// Of a program that is run with another function in place of a pass.
Shown shown_with(std::string_view pass, const std::string& program,
                 jit::Graph (*run)(jit::Graph, const jit::PassOptions&) = fails) {
  Shown shown;
  Options options;
  options.out = [&](std::string_view text) { shown.out += text; };
  options.err = [&](std::string_view text) { shown.err += text; };
  const jit::ReplacedPass broken(pass, run);
  Interpreter interpreter(std::move(options));
  interpreter.run("test.kiln", program);
  return shown;
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

constexpr const char* kForward =
    "f = jit(x => (x + 1).exp().sum() * 2)\n"
    "for i in range(4) { f(zeros(2)) }\n"
    "print(f(zeros(2)).item() == 4 * exp(tensor(1.0)).item())\n";
constexpr const char* kBackward =
    "f = jit(x => (x * x + 1).exp().sum())\n"
    "x = ones(2).requires_grad_()\n"
    "y = ones(2).requires_grad_()\n"
    "for i in range(3) { x.grad = none; f(x).backward() }\n"
    "(y * y + 1).exp().sum().backward()\n"
    "print((x.grad == y.grad).all().item())\n";

}  // namespace

TEST_CASE("a pass of kernels that is wrong is told once, with a program, and ops run one by one",
          "[faults]") {
  for (const std::string_view pass : {"decompose", "cse", "group", "lower", "compile"}) {
    INFO(pass);
    const Shown shown = shown_with(pass, kForward);
    INFO(shown.err);
    CHECK(shown.out == "true\n");
    CHECK(count(shown.err, "Kiln made a mistake here, the program did not: ") == 1);
    CHECK(count(shown.err, "its ops run one by one, since the pass `" + std::string(pass) +
                               "` is wrong: the test wants this") == 1);
    CHECK(count(shown.err, "g = parse_graph(\"\"\"") == 1);
    CHECK(count(shown.err, "print(check(g, x0, backend=\"fused\"))") == 1);
  }
}

TEST_CASE("where there is no graph without writes the interpreter does the call", "[faults]") {
  for (const std::string_view pass : {"expand_views", "functionalize"}) {
    INFO(pass);
    const Shown shown = shown_with(pass, kForward);
    INFO(shown.err);
    CHECK(shown.out == "true\n");
    CHECK(count(shown.err, "the interpreter does its calls, since the pass `" + std::string(pass) +
                               "` is wrong: the test wants this") >= 1);
    CHECK(count(shown.err, "is not compiled: Kiln made a mistake in compiling it") == 1);
  }
}

TEST_CASE("gradients are those of the tape, or op by op, where a pass is wrong", "[faults]") {
  for (const std::string_view pass : {"simplify", "lower", "cse", "dce", "reinplace"}) {
    INFO(pass);
    const Shown shown = shown_with(pass, kBackward);
    INFO(shown.err);
    CHECK(shown.out == "true\n");
    CHECK(count(shown.err, "the pass `" + std::string(pass) + "` is wrong: the test wants this") >= 1);
    CHECK(count(shown.err, "g = parse_graph(\"\"\"") >= 1);
  }
}

TEST_CASE("that there is no compiler is no mistake", "[faults]") {
  const Shown shown = shown_with("compile", kForward, has_no_compiler);
  INFO(shown.err);
  CHECK(shown.out == "true\n");
  CHECK(count(shown.err, "mistake") == 0);
}

}  // namespace kiln::faults_test

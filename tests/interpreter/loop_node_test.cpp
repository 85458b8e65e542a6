// Loops that are one node of a captured graph.
#include <catch2/catch.hpp>
#include <string>

#include "interpreter/interpreter.h"

namespace kiln::interp {
namespace {

class Program {
 public:
  explicit Program(const std::string& text) : interpreter_(options()) { interpreter_.run("<test>", text); }

  std::string value_of(const std::string& text) {
    return interpreter_.repr(interpreter_.run("<test>", text).value);
  }
  // How often nodes named `loop` stand in the graph of the call.
  std::string loops_in(const std::string& call) {
    return value_of("len([o for o in graph(" + call + ").ops() if o.startswith('loop')])");
  }

 private:
  static Options options() {
    Options options;
    options.out = [](std::string_view) {};
    options.err = options.out;
    options.hot_after = -1;
    return options;
  }
  Interpreter interpreter_;
};

constexpr const char* kRecurrence =
    "fn walk(x, y) {\n"
    "  z = x * 2\n"
    "  for i in range(1, 100) { z[i] = z[i - 1] * 0.5 + y[i] }\n"
    "  return z.sum() + z[99]\n"
    "}\n"
    "x = arange(100, dtype=f64) / 7; y = arange(100, dtype=f64).sin()\n";

}  // namespace

TEST_CASE("a loop is one node of the graph around it", "[interp][loop]") {
  Program program(kRecurrence);
  CHECK(program.loops_in("walk, x, y") == "1");
  program.value_of("f = jit(walk); a = [str(f(x, y)) for _ in range(3)]");
  CHECK(program.value_of("a == [str(eager(walk)(x, y))] * 3") == "true");
  CHECK(program.value_of("(compile_info(f).graphs, compile_info(f).breaks)") == "(1, [])");
  CHECK(program.value_of("compile_info(f).hits") == "2");
}

TEST_CASE("what a loop writes is written when the graph has run", "[interp][loop]") {
  Program program(
      "fn fill(x) { for i in range(1, 90) { x[i] += x[i - 1] }; return x * 2 }\n"
      "f = jit(fill)\n"
      "fn after(f) { x = arange(90, dtype=f32); y = x[3:6]; return [str(f(x)) for _ in range(3)], "
      "x.tolist(), y.tolist() }\n");
  CHECK(program.value_of("after(f) == after(eager(fill))") == "true");
  CHECK(program.value_of("compile_info(f).graphs") == "1");
}

}  // namespace kiln::interp

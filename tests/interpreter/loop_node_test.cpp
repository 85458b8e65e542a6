// Loops that are one node of a captured graph.
#include <catch2/catch.hpp>
#include <string>

#include "interpreter/interpreter.h"

namespace kiln::interp::loop_node_test {
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

TEST_CASE("one entry holds a loop for all numbers of iterations", "[interp][loop]") {
  Program program(
      "fn walk(x, n) { z = x * 2; for i in range(1, n) { z[i] = z[i - 1] * 0.5 + x[i] }; return z.sum() }\n"
      "x = arange(200, dtype=f64).sin(); f = jit(walk)\n");
  CHECK(program.value_of("[f(x, n).item() == eager(walk)(x, n).item() for n in [100, 90, 200, 66, 130]]") ==
        "[true, true, true, true, true]");
  CHECK(program.value_of("compile_info(f).entries") == "2");
}

TEST_CASE("the reason is told for which a loop is no node", "[interp][loop]") {
  Program program(
      "fn few(x) {\n"
      "  for i in range(5) { x = x * 2 }\n"
      "  return x\n"
      "}\n"
      "f = jit(few); f(ones(3))\n");
  CHECK(program.value_of("'loop at <test>:2 is no node of its graph: it goes round 5 times' in why(f)") ==
        "true");
}

namespace {

constexpr const char* kTraining =
    "fn loss(w, u) {\n"
    "  x = w * 1\n"
    "  for i in range(1, 70) { x[i] = x[i - 1] * u[i] + w[i] }\n"
    "  return (x * x).sum()\n"
    "}\n"
    "u = arange(70, dtype=f64).cos() * 0.5\n"
    "fn step(f) {\n"
    "  w = arange(70, dtype=f64).sin().requires_grad_()\n"
    "  y = f(w, u)\n"
    "  y.backward()\n"
    "  return y.item(), w.grad.tolist()\n"
    "}\n";

}  // namespace

TEST_CASE("a training step with a loop is one joint graph", "[interp][loop]") {
  Program program(kTraining);
  CHECK(program.value_of("[o for o in graph(loss, arange(70, dtype=f64).sin().requires_grad_(), u, "
                         "stage='joint').ops() if o.startswith('loop')]") == "['loop', 'loop_backward']");
  program.value_of("f = jit(loss); a = [step(f) for _ in range(3)]");
  CHECK(program.value_of("a == [step(eager(loss))] * 3") == "true");
  CHECK(program.value_of("(compile_info(f).graphs, compile_info(f).breaks, compile_info(f).hits)") ==
        "(1, [], 2)");
}

TEST_CASE("a loop within a step that goes back itself", "[interp][loop]") {
  Program program(std::string(kTraining) +
                  "fn whole(w) { l = loss(w, u); g = grads(l, [w])[0]; return l, g }\n"
                  "fn tried(f) { w = arange(70, dtype=f64).sin().requires_grad_(); l, g = f(w); "
                  "return l.item(), g.tolist() }\n"
                  "f = jit(whole)\n");
  CHECK(program.value_of("[tried(f) == tried(eager(whole)) for _ in range(3)]") == "[true, true, true]");
}

TEST_CASE("a joint graph with loops is read back from its text", "[interp][loop]") {
  Program program(
      "k = arange(66, dtype=f64).cos()\n"
      "fn solve(a, b) {\n"
      "  x = b * k\n"
      "  for i in range(1, 66) { x[i] = (x[i] - a[i, :i] @ x[:i]) / a[i, i] }\n"
      "  return (x * x).sum()\n"
      "}\n"
      "a = (eye(66, dtype=f64) * 9 + arange(66 * 66, dtype=f64).sin().view(66, 66)).requires_grad_()\n"
      "b = arange(66, dtype=f64).sin().requires_grad_()\n"
      "g = graph(solve, a, b, stage='joint'); again = parse_graph(str(g), g.constants)\n");
  CHECK(program.value_of("[o for o in g.ops() if o.startswith('loop')]") == "['loop', 'loop_backward']");
  CHECK(program.value_of("str(again) == str(g), again == g") == "(true, true)");
}

TEST_CASE("the text of a loop says what it captures and what ints are that sizes follow", "[interp][loop]") {
  Program program(
      "k = arange(80, dtype=f64).cos()\n"
      "fn sums(x) { for i in range(2, 80) { x[i] = (k[:i] * x[:i]).sum() }; return x * 2 }\n"
      "g = graph(sums, arange(80, dtype=f64).sin()); again = parse_graph(str(g), g.constants)\n");
  CHECK(program.value_of("', captures [' in str(g) and ' with n' in str(g)") == "true");
  CHECK(program.value_of("str(again) == str(g), again == g") == "(true, true)");
}

TEST_CASE("a loop within vmap is one node of the graph around it", "[interp][loop]") {
  Program program(
      "fn walk(x) { y = x * 1; for i in range(1, 70) { y[i] += 0.5 * y[i - 1] }; return y.sum() }\n"
      "fn cell(x, w) { h = zeros(3, dtype=f64); for i in range(70) { h = tanh(h @ w + x[i]) }; return h }\n"
      "walks = xs => vmap(walk)(xs); cells = (xs, w) => vmap(cell, in_dims=(0, none))(xs, w)\n"
      "xs = arange(350, dtype=f64).sin().view(5, 70); w = arange(9, dtype=f64).cos().view(3, 3)\n"
      "seq = arange(840, dtype=f64).sin().view(4, 70, 3)\n");
  CHECK(program.loops_in("walks, xs") == "1");
  CHECK(program.loops_in("cells, seq, w") == "1");
  program.value_of("f = jit(walks); g = jit(cells)");
  CHECK(program.value_of("[str(f(xs)) == str(eager(walks)(xs)) for _ in range(3)]") == "[true, true, true]");
  CHECK(program.value_of("[str(g(seq, w)) == str(eager(cells)(seq, w)) for _ in range(3)]") ==
        "[true, true, true]");
}

TEST_CASE("a long loop by a condition on numbers is a node", "[interp][loop]") {
  Program program(
      "fn walk(x, n) { y = x * 1; i = 1; while i < n { y[i] += y[i - 1]; i += 1 }; return y.sum() }\n"
      "fn used(x, n) { y = x * 1; i = 1; while i < n { y[i] += y[i - 1]; i += 1 }; return y.sum() + i }\n"
      "x = arange(200, dtype=f64).sin(); f = jit(walk)\n");
  CHECK(program.loops_in("walk, x, 100") == "1");
  CHECK(program.loops_in("walk, x, 30") == "0");
  CHECK(program.loops_in("used, x, 100") == "0");
  CHECK(program.value_of("[f(x, n).item() == eager(walk)(x, n).item() for n in [100, 90, 200, 66, 130]]") ==
        "[true, true, true, true, true]");
  CHECK(program.value_of("compile_info(f).entries") == "2");
}

}  // namespace kiln::interp::loop_node_test

// Loops that record gradients as machine code: when they are, what they keep, and what they leave to the
// interpreter. That gradients are those of the interpreter is what tests/scripts/flow_gradients.kiln asks.
#include <catch2/catch.hpp>
#include <string>

#include "interpreter/interpreter.h"
#include "tensor/autograd.h"

namespace kiln::interp::flow_gradient_test {
namespace {

constexpr const char* kBoth = "['forward and backward machine code']";

// Loops run as machine code at once.
class Program {
 public:
  Program() : interpreter_(options()) {}

  std::string value_of(const std::string& text) {
    return interpreter_.repr(interpreter_.run("<test>", text).value);
  }
  std::string forms_of(const std::string& f) {
    return value_of("[form for each in compile_info(" + f + ").loops for form in each.forms]");
  }

 private:
  static Options options() {
    Options options;
    options.out = [](std::string_view) {};
    options.err = options.out;
    options.hot_trips = 0;
    return options;
  }
  Interpreter interpreter_;
};

constexpr const char* kRecurrence =
    "fn recurrence(w) {\n"
    "  x = zeros_like(w)\n"
    "  for i in range(1, w.size(0)) { x[i] = x[i - 1] * w[i] + w[i - 1] }\n"
    "  return x.sum()\n"
    "}\n"
    "w = ones(8).requires_grad_()\n";

bool mentions(const std::string& text, std::string_view what) { return text.find(what) != std::string::npos; }

}  // namespace

TEST_CASE("a loop that records gradients is machine code both ways", "[interp][flow]") {
  Program program;
  program.value_of(kRecurrence);
  program.value_of("recurrence(w).backward()");
  CHECK(program.forms_of("recurrence") == kBoth);
  CHECK(program.value_of("w.grad.tolist()") ==
        program.value_of("grads(eager(recurrence)(w), [w])[0].tolist()"));
  const std::string why = program.value_of("why(recurrence)");
  CHECK(mentions(why, "runs as forward and backward machine code: once, 7 trips"));
  CHECK(mentions(why, "bytes for backward"));
}

TEST_CASE("a loop over pieces of a tensor records gradients", "[interp][flow]") {
  Program program;
  program.value_of(
      "fn lstm(x, w, u) {\n"
      "  (h, c) = (zeros(w.size(0)), zeros(w.size(0)))\n"
      "  for i in range(x.size(0)) {\n"
      "    (a, b, g, o) = (x[i] @ u + h @ w).chunk(4)\n"
      "    c = b.sigmoid() * c + a.sigmoid() * g.tanh()\n"
      "    h = o.sigmoid() * c.tanh()\n"
      "  }\n"
      "  return (h * h).sum()\n"
      "}\n"
      "x = randn(9, 5)\n"
      "w = randn(3, 12).requires_grad_()\n"
      "u = randn(5, 12).requires_grad_()\n");
  program.value_of("lstm(x, w, u).backward()");
  CHECK(program.forms_of("lstm") == kBoth);
  CHECK(program.value_of("[w.grad.tolist(), u.grad.tolist()]") ==
        program.value_of("[g.tolist() for g in grads(eager(lstm)(x, w, u), [w, u])]"));
  // The width is a number of the flow, and another one is read again.
  program.value_of("wide = randn(4, 16).requires_grad_()");
  program.value_of("z = randn(5, 16)");
  CHECK(program.value_of("[g.tolist() for g in grads(lstm(x, wide, z), [wide])]") ==
        program.value_of("[g.tolist() for g in grads(eager(lstm)(x, wide, z), [wide])]"));
}

TEST_CASE("a loop that records gradients is one node of the tape", "[interp][flow]") {
  Program program;
  program.value_of(kRecurrence);
  program.value_of("recurrence(w).backward()");
  const std::size_t before = live_tape_nodes();
  program.value_of("y = recurrence(w)");
  CHECK(live_tape_nodes() <= before + 2);  // the loop and the sum
  program.value_of("y = none");
  CHECK(live_tape_nodes() == before);
}

TEST_CASE("what a loop keeps for backward follows what its iterations read", "[interp][flow]") {
  Program program;
  program.value_of(kRecurrence);
  const auto kept = [&](const std::string& n) {
    program.value_of("v = (ones(" + n + ") * 0.5).requires_grad_(); before = memory()[\"live_bytes\"]");
    program.value_of("y = recurrence(v)");
    const std::string bytes = program.value_of("memory()[\"live_bytes\"] - before");
    program.value_of("y = none");
    return std::stod(bytes);
  };
  // The loop is compiled, and what the first run of so many iterations keeps is known to the next one.
  kept("1000");
  const double few = kept("1000");
  CHECK(few > 1000);
  CHECK(kept("10000") < 20 * few);
  CHECK(kept("10000") < 11 * few);
}

TEST_CASE("without recorded gradients the same loop is another flow", "[interp][flow]") {
  Program program;
  program.value_of(kRecurrence);
  program.value_of("with no_grad() { y = recurrence(w) }");
  CHECK(program.value_of("y.requires_grad") == "false");
  CHECK(program.forms_of("recurrence") == "['machine code']");
}

TEST_CASE("results that are computed from one another are left to the interpreter", "[interp][flow]") {
  Program program;
  program.value_of(
      "fn two(w) {\n"
      "  h = w[0]\n"
      "  s = w[0] * 0\n"
      "  for i in range(5) { h = h * w[i]; s = s + h }\n"
      "  return h, s\n"
      "}\n"
      "w = ones(8).requires_grad_()\n");
  program.value_of("h, s = two(w)");
  program.value_of("h, s = two(w)");
  CHECK(program.forms_of("two") == "[]");
  CHECK(mentions(program.value_of("why(two)"), "may be asked for, from which another result is computed"));
  CHECK(program.value_of("grads(s, [h])[0].item()") == "1.0");
}

TEST_CASE("a run that fails in the middle is undone", "[interp][flow]") {
  Program program;
  program.value_of(
      "fn beyond(x, n) { for i in range(n) { x[i] = x[i] * 2 } }\n"
      "fn tried(n) {\n"
      "  x = ones(4).requires_grad_() * 1.0\n"
      "  try { beyond(x, n) } catch e { }\n"
      "  return x.tolist()\n"
      "}\n");
  CHECK(program.value_of("tried(4)") == "[2.0, 2.0, 2.0, 2.0]");
  CHECK(program.value_of("tried(6)") == "[2.0, 2.0, 2.0, 2.0]");
  CHECK(program.forms_of("beyond") == kBoth);
}

}  // namespace kiln::interp::flow_gradient_test

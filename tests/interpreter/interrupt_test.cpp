// Ctrl-C at every place where it can be seen: what is changed is changed whole or not at all, and nothing but
// the end of the program answers it.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "interpreter/interpreter.h"
#include "tensor/interrupt.h"

namespace kiln::interp::interrupt_test {
namespace {

class Program {
 public:
  explicit Program(int hot_after = 300) : interpreter_(options(hot_after)) {}

  std::string value_of(const std::string& text) {
    return interpreter_.repr(interpreter_.run("<test>", text).value);
  }

  // Runs text with a request to stop that is seen when so many places were passed. False: it came to its end.
  bool is_cut(const std::string& text, std::int64_t places) {
    let_interrupt_pass(places);
    interrupt_requested = true;
    bool cut = false;
    try {
      interpreter_.run("<test>", text);
    } catch (const lang::UserError& error) {
      CHECK(error.diagnostic().kind == "Interrupted");
      CHECK(error.diagnostic().message == kInterrupted);
      cut = true;
    }
    interrupt_requested = false;
    let_interrupt_pass(0);
    return cut;
  }

 private:
  static Options options(int hot_after) {
    Options options;
    options.out = [](std::string_view) {};
    options.err = options.out;
    options.hot_after = hot_after;
    return options;
  }
  Interpreter interpreter_;
};

// At every place of `text`, `state` is what it was before or what it is at the end.
void check_whole(Program& program, const std::string& begin, const std::string& text,
                 const std::string& state) {
  INFO(text);
  program.value_of(begin);
  const std::string before = program.value_of(state);
  program.value_of(text);
  const std::string after = program.value_of(state);
  CHECK(before != after);
  int cut = 0;
  for (std::int64_t places = 0; places < 5000; ++places) {
    program.value_of(begin);
    const bool is_cut = program.is_cut(text, places);
    const std::string now = program.value_of(state);
    CAPTURE(places, is_cut, now);
    REQUIRE((now == after || (is_cut && now == before)));
    if (!is_cut) break;
    ++cut;
  }
  CHECK(cut > 0);
  CHECK(cut < 5000);
}

TEST_CASE("writes in place are whole or not begun", "[interrupt]") {
  Program program(-1);
  const std::string begin = "x = zeros(1200, 1000); y = ones(1200, 1000); i = arange(1200)\n";
  const std::string state = "(x.min().item(), x.max().item(), x.sum().item(), len(x.shape))";
  for (const std::string text :
       {"x.add_(y)", "x += y", "x[:] = y", "x[:, ::2] = 2.0", "x.fill_(3)", "x.exp_()",
        "x.copy_(y.t().reshape(1200, 1000))", "x[i] = y", "x[y > 0] = 5.0", "x.masked_fill_(y > 0, 7.0)",
        "x.index_add_(0, i, y)", "x.t().add_(y.t())", "x.add_(y, alpha=0.5)",
        "x.scatter_(1, zeros(1200, 1, dtype=i64), ones(1200, 1))", "x.sub_(y.cumsum(1))",
        "seed(1); x.uniform_()", "x.lerp_(y, 0.25)", "x.clamp_(min=1)"}) {
    check_whole(program, begin, text, state);
  }
}

TEST_CASE("a gradient is added whole or not at all", "[interrupt]") {
  Program program(-1);
  check_whole(program,
              "x = zeros(1200, 1000).requires_grad_(); (x * 2).sum().backward(); y = (x * 3).sum()\n",
              "y.backward()", "(x.grad.min().item(), x.grad.max().item())");
}

TEST_CASE("a step of an optimizer is whole or not begun", "[interrupt]") {
  for (const int hot_after : {-1, 300, 0}) {
    Program program(hot_after);
    CAPTURE(hot_after);
    program.value_of(
        "import optim\nfn begin(make) {\n  params = [full((n,), 1.0).requires_grad_() for n in [3, 5000, "
        "90000]]\n"
        "  opt = make(params)\n  for k in range(2) {\n    sum([(p * (i + 2)).sum() for i, p in "
        "enumerate(params)]).backward()\n"
        "    if k == 0 { opt.step() }\n  }\n  return params, opt\n}\n"
        "fn shown(params, opt) = ([p.sum().item() for p in params], [p.max().item() for p in params],\n"
        "  {k: v.float().sum().item() for k, v in opt.state_dict().items()})\n");
    for (const std::string make :
         {"ps => optim.SGD(ps, lr=0.1, momentum=0.9)", "ps => optim.Adam(ps, lr=0.1)",
          "ps => optim.AdamW(ps, lr=0.1, amsgrad=true)", "ps => optim.RMSprop(ps, momentum=0.5)",
          "ps => optim.Adagrad(ps)", "ps => optim.Adadelta(ps)", "ps => optim.NAdam(ps)",
          "ps => optim.RAdam(ps)"}) {
      check_whole(program, "(params, opt) = begin(" + make + ")", "opt.step()", "shown(params, opt)");
    }
  }
}

TEST_CASE("a compiled step of training is whole or not begun", "[interrupt]") {
  for (const int hot_after : {300, 0}) {
    Program program(hot_after);
    CAPTURE(hot_after);
    program.value_of(
        "import optim\nfn begin() {\n  w = full((64, 64), 0.1).requires_grad_(); x = ones(200, 64)\n"
        "  opt = optim.Adam([w], lr=0.1); log = []\n"
        "  train = jit(fn(k) { ((x @ w) ** 2).mean().backward(); opt.step(); w.grad = none; log.append(k) "
        "})\n"
        "  for k in range(4) { train(k) }\n  return w, opt, log, train\n}\n");
    check_whole(program, "(w, opt, log, train) = begin()", "train(9)",
                "(w.sum().item(), opt.steps, opt.mean[0].sum().item(), w.grad is none, log)");
  }
}

TEST_CASE("what a compiled call writes and does is done whole or not at all", "[interrupt]") {
  Program program(0);
  program.value_of(
      "struct Box { n = 0 }\nfn begin() = (zeros(200000), zeros(3), Box(), [])\n"
      "f = jit(fn(x, y, box, log) { z = (x + 1).exp(); x.add_(z); y += z.sum(); box.n += 1; "
      "log.append(box.n); print(1) })\n");
  check_whole(program, "(x, y, box, log) = begin()", "f(x, y, box, log)",
              "(x.sum().item(), x.max().item(), y.tolist(), box.n, log)");
}

TEST_CASE("an uninterrupted function is called whole or not at all", "[interrupt]") {
  for (const int hot_after : {-1, 0}) {
    Program program(hot_after);
    CAPTURE(hot_after);
    program.value_of(
        "fn inner(xs, n) { while n > 0 { xs.append(n); n -= 1 } }\n"
        "@uninterrupted fn outer(xs) { for k in range(3) { inner(xs, 4); map(x => inner(xs, 1), [1, 2]) }; "
        "xs.sort(key=x => -x) }\n"
        "fn around(xs) { for k in range(2) { x = k }; outer(xs); for k in range(2) { x = k } }\n");
    check_whole(program, "xs = []", "around(xs)", "xs");
  }
  // A request that came within is seen after it.
  Program program;
  program.value_of("f = uninterrupted(xs => xs.append(1))\nxs = []");
  CHECK(program.is_cut("f(xs)\nwhile true { }", 1));
}

TEST_CASE("statistics of a batch norm are those of one batch", "[interrupt]") {
  Program program(-1);
  check_whole(program, "m = zeros(4); v = ones(4); x = arange(40000.).reshape(100, 4, 100)\n",
              "batch_norm(x, m, v, training=true)", "(m.tolist(), v.tolist())");
}

TEST_CASE("catch does not see it, whatever it passes on its way", "[interrupt]") {
  Program program(-1);
  program.value_of(
      "fn spin(x) { while true { } }\nstruct Scope { fn enter(self) = 1\n fn exit(self, *e) = 2 }\n");
  for (const std::string call :
       {"spin(1)", "with no_grad() { spin(1) }", "with Scope() { spin(1) }", "list(map(spin, [1]))",
        "[2, 1].sort(key=spin)", "sorted([2, 1], key=spin)", "grad(spin)(1.0)", "vmap(spin)(ones(2))",
        "sleep(100)", "sum(range(1 << 60))", "jit(spin)(1)", "checkpoint(spin)(ones(2).requires_grad_())",
        "x = ones(300, 300); while true { x = x @ x / 300 }"}) {
    INFO(call);
    CHECK(program.is_cut("seen = []\ntry { " + call + " } catch err { seen.append(err.kind) }", 9));
    CHECK(program.value_of("seen") == "[]");
  }
}

}  // namespace
}  // namespace kiln::interp::interrupt_test

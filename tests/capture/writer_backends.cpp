// Backends of the program's own: programs of every kind, wrapped in `jit` with functions that make callables
// of graphs.
#include "tests/capture/writer.h"

namespace kiln::testing {

// Expressions, so that nothing of them is seen in what a program holds.
std::string Writer::own_backend() {
  return pick({"g => g", "g => g", "g => (fn(*a) { return g(*a) })",
               "(fn() { n = [0]; return g => (fn(*a) { n[0] += 1; return g(*a) }) })()",
               "g => parse_graph(str(g))", "g => (fn(*a) { out = g(*a); return out })",
               "fn(g) { throw \"not this one\" }", "g => (fn(*a) { throw \"not now\" })",
               "(fn() { n = [0]; return g => (fn(*a) { n[0] += 1; if n[0] % 3 == 2 { throw \"not now\" }; "
               "return g(*a) }) })()",
               "(fn() { held = []; return fn(g) { held.append(g); return held[-1] } })()"});
}

void Writer::backends() {
  program_.ways.clear();
  for (int k = 0; k < 3; ++k) {
    Way way{Mode::Wrapped, own_backend()};
    way.is_own_backend = true;
    way.is_checked = k == 0;
    program_.ways.push_back(way);
  }
  // Functions that write what has, and what has no history.
  const int count = 1 + random_.below(2);
  for (int k = 0; k < count; ++k) {
    Statement made{"fn " + fresh("f") + "(x) {", {}, "}"};
    const std::string name = made.head.substr(3, made.head.find('(') - 3);
    line(made.body, "y = x" + pick({" * 1", "", ".sin()", ".clone()", "[:]", ".t()"}));
    for (int n = 1 + random_.below(4); n > 0; --n)
      line(made.body,
           pick({"y.detach().mul_(2)",
                 "with no_grad() { x.add_(1) }",
                 "with no_grad() { y.mul_(2) }",
                 "y[0].mul_(2)",
                 "y.add_(x)",
                 "v = y[1:]; v += 1",
                 "y = y * x",
                 "gt.add_(1)",
                 "gv.mul_(2)",
                 "y = y + gv",
                 "y.t_()",
                 "z = y.detach(); z[0] = 1; y = y + z",
                 "y = y.view(-1).view(3, 3)",
                 "y = y * gq",
                 "gs.n += 1",
                 "y = y + gs.n",
                 "y = y + rand(3)",
                 "y.relu_()",
                 "y = y.detach().clone() * x",
                 "print(gn)",
                 "x[0] = 2",
                 "with no_grad() { y = y * 2 }",
                 "y = dropout(y, 0.5)",
                 "y.detach_()",
                 "w = x.detach().clone().requires_grad_(); (w * w).sum().backward(); y = y + w.grad"}));
    line(made.body,
         "return " + pick({"y", "y, x", "y, y[0]", "y.sum()", "(y, gt)", "x", "[y, {\"a\": y * 2}]"}));
    add_function(std::move(made), {name, {{"x", Kind::Tensor, {3, 3}}}, {}, false, false, {}});
  }
}

}  // namespace kiln::testing

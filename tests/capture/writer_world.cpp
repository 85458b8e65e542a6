// What lies around the functions of a program and changes while they run: numbers in containers, fields,
// closures' variables, tensors that are written. Themes that look at when something is read are made of it.
#include <utility>

#include <fmt/format.h>

#include "tests/capture/writer.h"

namespace kiln::testing {

std::string Writer::row() {
  const std::string n = std::to_string(width_);
  return pick({"ones(" + n + ")", fmt::format("(arange({}.) % 5 - 2)", n),
               fmt::format("(arange({}.) % 7 * 0.25)", n), fmt::format("randn({})", n),
               fmt::format("(arange({}.) % 3)[::2]", 2 * width_)});
}

void Writer::world() {
  width_ = theme_ == Theme::Hot ? 320 : random_.chance(12) ? 300 : 3;
  top("struct Kept { n = 1; q = 0.5; t = none; all = []; fn step(self) { self.n += 1; return self.n }; fn "
      "call(self, z) = z * self.n }");
  top(fmt::format("gk = Kept(1, 0.5, {})", row()));
  top("gl = [2.0, 1]");
  top("gm = {\"a\": 1.5, \"n\": 2}");
  top("gt = " + row());
  top("gc = [" + row() + ", gt]");
  top("gn = 2");
  top(fmt::format("gw = {}.clone(){}", row(), has_body_law_ ? "" : ".requires_grad_()"));
}

// Of a function of `x` and `k`.
void Writer::locals(Block& block) {
  if (is_one_text_) line(block, "nonlocal gn");
  line(block, "l = [2.0, 1]; d = {\"a\": 1.5, \"n\": k}; s = Kept(2, 0.5, x); n = k + 1");
  line(block, fmt::format("c = {}; b = [c, x]; h = z => z * n", row()));
  line(block, "y = x" + pick({" * 1", "", ".sin()", " * k", ".clone()"}));
}

std::string Writer::number_read(const std::vector<std::string>& also) {
  std::vector<std::string> all{"l[0]",  "l[-1]",     "len(l)", "d[\"a\"]", "s.n",         "n", "gk.n", "gk.q",
                               "gl[0]", "gm[\"a\"]", "gn",     "sum(gl)",  "len(gk.all)", "k", "s.q"};
  all.insert(all.end(), also.begin(), also.end());
  all.insert(all.end(), also.begin(), also.end());
  return pick(all);
}

void Writer::number_change(Block& block) {
  line(block, pick({"l[0] = 30.0",
                    "l[0] *= 0.5",
                    "l.append(3)",
                    "l = [4.0, n]",
                    "l.reverse()",
                    "d[\"a\"] = 2.5",
                    "d[\"a\"] += 1",
                    "d = {\"a\": 0.25, \"n\": 1}",
                    "s.n += 1",
                    "s.step()",
                    "s = Kept(5)",
                    "s.q = n * 0.25",
                    "n += 1",
                    "n = 7",
                    "n = n * 2",
                    "gk.n += 1",
                    "gk.step()",
                    "gk.q *= 0.5",
                    "gl[0] = gl[0] * 0.5",
                    "gl[1] += k",
                    "gm[\"a\"] = gm[\"a\"] * 0.5 + 1",
                    is_one_text_ ? "gn += 1" : "gk.n *= 2",
                    "gk.all.append(n)",
                    "h = z => z * 3",
                    "h = z => z + l[0]",
                    "k += 1",
                    "gl.append(1); gl.pop(0)"}));
}

std::string Writer::tensor_read() {
  return pick({"c", "gt", "gc[0]", "gc[-1]", "gk.t", "b[0]", "s.t", "gw", "b[-1]"});
}

void Writer::tensor_change(Block& block) {
  const std::string at = pick({"c", "gt", "gc[0]", "gk.t", "b[0]", "gc[-1]", "gt", "gc[0]"});
  const std::string all = pick({"c.t()", "c[1:]", "gt[0:2]", "gc[0].view(-1)", "c[:]", "gt.detach()"});
  switch (random_.below(12)) {
    case 0:
      return line(block,
                  pick({"c = c * 2", "gc[0] = gc[0] + 1", "gk.t = y.detach()", "b[0] = y", "s.t = y * 2",
                        "gk.t = gk.t * 0.5", "gc.reverse()", "gc[0] = gc[0].clone()", "s.t = c"}));
    case 1:
      return line(block, fmt::format("{}.{}", all, pick({"add_(1)", "mul_(0.5)", "neg_()", "fill_(n)"})));
    case 2:
      return line(
          block, fmt::format("with no_grad() {{ {}.{} }}", pick({at, "gw"}), pick({"add_(1)", "mul_(0.5)"})));
    case 3:
      return line(block, at + pick({"[0] = 3", "[1] += n", "[0] = k", "[-1] *= 0.5"}));
    case 4:
      return line(block, at + pick({" += 1", " *= 0.5", ".copy_(y.detach())", ".sub_(y.detach() * 0.1)"}));
    case 5:
      return line(block, at + pick({".uniform_()", ".zero_()", ".bernoulli_(0.5)", ".normal_()"}));
    default:
      return line(block,
                  at + pick({".add_(1)", ".mul_(2)", ".mul_(0.5)", ".neg_()", ".add_(k)", ".clamp_(-2, 2)"}));
  }
}

// An op or two, a break, a call of what is around.
void Writer::between(Block& block) {
  switch (random_.below(12)) {
    case 0:
      return line(block, pick({"print(gk.n, gn, l)", "print(n, d)", "print(gl, len(gk.all))"}));
    case 1:
      return line(block,
                  pick({"print(y.sum() > 0)", "q = y[0].item()", "if y.sum() > 100 { y = y * 0.01 }"}));
    case 2:
      return line(block, "y = " + pick({"h(y)", "s(y)", "gk(y)"}));
    case 3:
      return line(block, pick({"y.add_(1)", "y.mul_(0.5)", "y[0] = 2", "y += n"}));
    case 4:
      return line(block, "y = y + rand_like(y)");
    case 5:
      return line(block, "y = y * " + number_read());
    case 6:
      return line(block, "y = y + " + tensor_read());
    default:
      return line(block, pick({"y = y.sin()", "y = y * 0.5 + x", "y = y.tanh()", "y = y - y.mean()",
                               "y = (y * y).cos()"}));
  }
}

// A function of `x` and `k`, whose statements `part` adds, and another that goes back through it.
void Writer::world_function(const std::function<void(Block& block, bool in_loop)>& part) {
  const std::string name = fresh("f");
  Statement made{fmt::format("fn {}(x, k) {{", name), {}, "}"};
  locals(made.body);
  const std::size_t outer_owns = owns_.size();
  if (has_local_owns_ && random_.chance(30)) own_function(made.body, true);
  const int parts = 2 + random_.below(4);
  for (int k = 0; k < parts; ++k) {
    if (random_.chance(25)) {
      Statement loop{fmt::format("for i in range({}) {{", pick({"2", "3", "4", "k + 2"})), {}, "}"};
      part(loop.body, true);
      if (random_.chance(60)) number_change(loop.body);
      if (random_.chance(30)) tensor_change(loop.body);
      if (random_.chance(30)) part(loop.body, true);
      made.body.push_back(std::move(loop));
    } else {
      part(made.body, false);
    }
    if (random_.chance(60)) number_change(made.body);
    if (random_.chance(50)) tensor_change(made.body);
    if (random_.chance(35)) between(made.body);
  }
  owns_.resize(outer_owns);
  line(made.body, "return " + pick({"y", "y", "y", "y * gk.n", "y.sum() * n", "y + c"}));
  program_.functions.push_back(name);
  program_.statements.push_back(std::move(made));
  world_functions_.push_back(name);
  if (has_body_law_ || random_.chance(50)) return;
  const std::string back = fresh("s");
  top(fmt::format(
      "fn {}(x, k) {{ w = x.detach().clone().requires_grad_(); y = {}(w, k); "
      "if y.requires_grad {{ y.sum().backward() }}; return y.detach() if w.grad is none else w.grad{} }}",
      back, name, pick({"", " + y.detach()", " * gk.n"})));
  program_.functions.push_back(back);
  world_functions_.push_back(back);
}

// Calls of all of them, and changes of the top level in between.
void Writer::world_calls() {
  top("@eager fn slope(f, x, k) { w = x.detach().clone().requires_grad_(); y = f(w, k); if y.requires_grad { "
      "y.sum().backward() }; return y.detach(), w.grad }");
  top("p = " + row());
  for (int count = 4 + random_.below(5); count > 0; --count) {
    world_call();
    if (random_.chance(40)) world_change();
  }
  top("print(rand(2).tolist(), gw.grad is none, gk.n, gn, gl)");
}

void Writer::world_call() {
  const std::string f = random_.pick(world_functions_), r = fresh("r");
  const std::string k = pick({"0", "1", "2", "1"});
  const std::string x =
      pick({"p", "p", "gt", row(), row() + (has_body_law_ ? ".clone()" : ".clone().requires_grad_()"),
            "gc[0]", "gw", "gw * 2"});
  const std::string shown = fmt::format("print({}.sum().item())", r);
  switch (has_body_law_ ? 5 + random_.below(5) : random_.below(10)) {
    case 0:
    case 1:
    case 2:
      return top(fmt::format(
          "({}, g{}) = slope({}, {}, {}); print({}.sum().item(), g{} is none or g{}.sum().item())", r, r, f,
          x, k, r, r, r));
    case 3:
      return top(fmt::format("for i in range({}) {{ {} = {}({}, {}) }}; {}", 8 + random_.below(30), r, f, x,
                             pick({"1", "i", "i % 2", "0"}), shown));
    case 4:
      return top(fmt::format("for i in range({}) {{ {}, g{} = slope({}, {}, {}) }}; {}",
                             5 + random_.below(20), r, r, f, x, pick({"1", "i % 3"}), shown));
    case 5:
      return top(fmt::format("with no_grad() {{ {} = {}({}, {}) }}; {}", r, f, x, k, shown));
    case 6:
      return top(fmt::format("with no_compile() {{ {} = {}({}, {}) }}; {}", r, f, x, k, shown));
    case 7:
      return top(
          fmt::format("{} = none; try {{ {} = {}({}, {}) }} catch e {{ print(e.kind, e.message, e.line) }}",
                      r, r, f, x, k));
    default:
      return top(fmt::format("{} = {}({}, {}); {}", r, f, x, k, shown));
  }
}

void Writer::world_change() {
  const std::string fresh_row = row();
  switch (random_.below(9)) {
    case 0:
      return top(pick({"gk.n = 3", "gk.q = 2.0", "gk.n = 1", "gk.n += 0.5", "gk.all = []"}));
    case 1:
      return top(pick({"gl = [1.0, 2]", "gl[0] = 3.0", "gl.append(4)"}));
    case 2:
      return top(pick({"gm[\"a\"] = 0.5", "gm = {\"a\": 2.5, \"n\": 1}"}));
    case 3:
      return top("gn = " + digit(4));
    case 4:
      return top("gt = " + fresh_row);
    case 5:
      return top(pick({"gc[0] = " + fresh_row, "gc = [" + fresh_row + "]", "gc[0] = gt", "gc.reverse()"}));
    case 6:
      return top("gk.t = " + pick({fresh_row, "gt", "gc[0]"}));
    case 7:
      return top("gk = Kept(2, 0.25, " + pick({"gt", fresh_row}) + ")");
    default:
      return top(pick(
          {"gw.grad = none", "gt = gt.clone()", "seed(4)", "p = " + fresh_row, "gw.requires_grad_(false)"}));
  }
}

}  // namespace kiln::testing

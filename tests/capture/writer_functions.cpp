// The functions of a program, and the outside state that they read and write.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tests/capture/writer.h"

namespace kiln::testing {

std::vector<Typed> Writer::variables(Kind kind) const {
  std::vector<Typed> found;
  for (const Typed& each : scope_) {
    if (each.kind == kind) found.push_back(each);
  }
  return found;
}

Typed Writer::variable(Kind kind) {
  const std::vector<Typed> found = variables(kind);
  if (!found.empty()) return random_.pick(found);
  switch (kind) {
    case Kind::Int:
      return {digit(4), kind};
    case Kind::Float:
      return {pick({"0.5", "2.0", "-1.25"}), kind};
    case Kind::Bool:
      return {pick({"true", "false"}), kind};
    case Kind::Text:
      return {pick({"\"a\"", "\"b\""}), kind};
    case Kind::Tensors:
      return {"gxs", kind};
    case Kind::Ints:
      return {"gks", kind};
    case Kind::Dict:
      return {"gd", kind};
    case Kind::Layer:
      return {"gs", kind};
    default:
      return made();
  }
}

void Writer::declare(Typed v) { scope_.push_back(std::move(v)); }

// A struct with what structs have: defaults, methods that change it, a call.
void Writer::layer_struct() {
  Statement layer{"struct Layer {", {}, "}"};
  layer.body.push_back({"w; b = none; n = 1; on = true; log = []", {}, ""});
  Statement call{"fn call(self, x) {", {}, "}"};
  call.body.push_back({"y = x * self.w", {}, ""});
  call.body.push_back({"if self.b is not none { y = y + self.b }", {}, ""});
  if (random_.chance(50)) call.body.push_back({"if self.on { y = y.relu() }", {}, ""});
  if (random_.chance(50)) call.body.push_back({"self.n += 1", {}, ""});
  call.body.push_back({"return y", {}, ""});
  layer.body.push_back(std::move(call));
  Statement step{"fn step(self, x) {", {}, "}"};
  step.body.push_back({random_.chance(50) ? "self.w = self.w + x" : "self.w.add_(x)", {}, ""});
  step.body.push_back({random_.chance(50) ? "self.log.append(self.n)" : "self.n = self.n + 1", {}, ""});
  if (random_.chance(30)) step.body.push_back({"self.seen = x", {}, ""});
  layer.body.push_back(std::move(step));
  layer.body.push_back({"fn run(self, x) = self.call(x) + self.n", {}, ""});
  program_.statements.push_back(std::move(layer));
}

// What functions find at the top level. Names begin with g.
void Writer::outside() {
  top("gn = " + digit(4));
  top("gq = " + pick({"0.5", "2.0"}));
  top("gt = " + fresh_tensor({3, 3}, Element::Float));
  top("gv = " + fresh_tensor({3}, Element::Float));
  top("gxs = [" + fresh_tensor({3, 3}, Element::Float) + ", gt]");
  top("gys = " + pick({"gxs", "[gt, gt]", "[ones(3, 3)]"}));
  top("gks = [1, 2, 3]");
  top(fmt::format("gd = {{\"a\": {}, \"n\": 2, \"lr\": 0.5}}", pick({"gt", "ones(3, 3)"})));
  top(fmt::format("gs = Layer({})", pick({"gt", "ones(3, 3)", "randn(3, 3).requires_grad_()"})));
  top("gr = " + pick({"gs", "Layer(gt)", "Layer(ones(3, 3), gv)"}));
  scope_ = {{"gr", Kind::Layer},    {"gys", Kind::Tensors},       {"gn", Kind::Int},
            {"gq", Kind::Float},    {"gt", Kind::Tensor, {3, 3}}, {"gv", Kind::Tensor, {3}},
            {"gxs", Kind::Tensors}, {"gks", Kind::Ints},          {"gd", Kind::Dict},
            {"gs", Kind::Layer}};
}

// Shapes of programs that single statements would seldom make.
void Writer::idioms() {
  const Typed x{"x", Kind::Tensor, {3, 3}};
  if (random_.chance(25)) {  // recursion on a host value
    const std::string step = pick({"x * 2", "x + gt", "x.sin()", "x.add_(1)"});
    add_function({"fn rec(x, n) {",
                  {{"if n <= 0 { return x }", {}, ""}, {fmt::format("return rec({}, n - 1)", step), {}, ""}},
                  "}"},
                 {"rec", {x, {"n", Kind::Int}}, {}, false, false, {x}});
  }
  if (random_.chance(25)) {  // closures that count and hold
    const std::string held = pick({"x * n", "x + held", "held.add_(x)", "x * held * n"});
    Statement inner{"fn step(x) {", {{"nonlocal n, held", {}, ""}, {"n += 1", {}, ""}}, "}"};
    if (random_.chance(50)) inner.body.push_back({"held = held * 0.5 + x", {}, ""});
    inner.body.push_back({"return " + held, {}, ""});
    program_.statements.push_back({"fn maker(n, held) {", {std::move(inner), {"return step", {}, ""}}, "}"});
    top("gc = maker(1, ones(3, 3))");
    functions_.push_back({"gc", {x}, {}, false, false, {x}});
  }
  if (random_.chance(20)) {  // closures that share what they count, or do not
    program_.statements.push_back(
        {"fn counter(n) {",
         {{"fn step(x) {", {{"nonlocal n", {}, ""}, {"n += 1", {}, ""}, {"return x * n", {}, ""}}, "}"},
          {"fn look(x) = x + n", {}, ""},
          {"return step, look", {}, ""}},
         "}"});
    top("ga, gb = counter(1)");
    top("ge, gf = counter(" + digit(2) + ")");
    add_function({"fn count(a, b, x) {", {{"y = a(x)", {}, ""}, {"return b(y)", {}, ""}}, "}"},
                 {"count", {}, {}, false, false, {}});
    functions_.pop_back();
    top("fn counted(x) = count(ga, " + pick({"gb", "gf"}) + ", x)");
    functions_.push_back({"counted", {x}, {}, false, false, {x}});
  }
  if (random_.chance(25)) {  // closures whose captures only functions within them read
    const std::string read = pick({"(v => v * n)(x)", "vmap(v => v + n)(x)", "grad(v => (v * n).sum())(x)",
                                   "jvp(v => v * n, (x,), (x,))[1]", "x * sum(list(map(v => v * n, [1, 2])))",
                                   "x + sorted([1, 2, 3], key=v => abs(v - n))[0]",
                                   "(v => (w => w - n)(v) * n)(x)", "x[0] + x[(k => k % 3)(n)]"});
    program_.statements.push_back({"fn holder(n) = x => " + read, {}, ""});
    top("gh = holder(1)");
    top("fn holds(x) = gh(x)");
    functions_.push_back({"holds", {x}, {}, false, false, {x}});
    has_holder_ = true;
  }
  if (random_.chance(20)) {  // shapes in the signature
    add_function({"fn named(x: tensor[a, b], k: int = 1) {",
                  {{"y = x.reshape(b, a) * a", {}, ""}, {"return y[0:k].sum(dim=0)", {}, ""}},
                  "}"},
                 {"named", {x}, {"k"}, false, false, {{"", Kind::Tensor, {3}}}});
  }
  if (random_.chance(20)) {  // functions as arguments
    add_function({"fn twice(h, x) {", {{"y = h(x)", {}, ""}, {"return h(y) + x", {}, ""}}, "}"},
                 {"twice", {}, {}, false, false, {}});
    functions_.pop_back();
    const std::string h = pick({"t => t * 2", "t => t + gt", "gs", "sin"});
    top(fmt::format("fn applied(x) = twice({}, x)", h));
    functions_.push_back({"applied", {x}, {}, false, false, {x}});
  }
  if (random_.chance(15)) {  // a transform of a function of the program
    const std::string t =
        pick({"grad(v => (v.sin() * gt).sum())(x)", "vmap(v => v * gv)(x)", "jacrev(v => v.sin())(x[0])",
              "hessian(v => v.square().sum())(x[0])", "vmap(grad(v => (v * v).sum()))(x)",
              "jvp(v => v.exp(), (x,), (gt,))[1]", "jacfwd(v => v * gn)(x[0])",
              "value_and_grad(v => (v * gq).sum())(x)[1]", "vmap(v => v + 1, in_dims=1)(x)",
              "functionalize(v => v.clone().add_(1))(x)"});
    add_function({"fn moved(x) = " + t, {}, ""}, {"moved", {x}, {}, false, false, {x}});
  }
}

Typed Writer::parameter() {
  static const std::vector<Shape> kShapes{{3, 3}, {3, 3}, {3, 3}, {3}, {3}, {}, {3, 1}, {2, 3, 3}};
  switch (random_.below(13)) {
    case 10:
      return {fresh("xs"), Kind::Tensors};
    case 11:
      return {fresh("s"), Kind::Layer};
    case 12:
      return {fresh("d"), Kind::Dict};
    case 0:
      return {fresh("n"), Kind::Int};
    case 1:
      return {fresh("q"), Kind::Float};
    case 2:
      return {fresh("xs"), Kind::Tensors};
    case 3:
      return {fresh("s"), random_.chance(50) ? Kind::Layer : Kind::Dict};
    case 4:
      return {fresh("c"), random_.chance(50) ? Kind::Bool : Kind::Text};
    default:
      return {fresh("x"), Kind::Tensor, random_.pick(kShapes),
              random_.chance(85) ? Element::Float : Element::Int};
  }
}

void Writer::function(int number) {
  FunctionInfo info;
  info.name = "f" + std::to_string(number);
  const std::vector<Typed> outer = scope_;
  const int count = 1 + random_.below(3);
  info.parameters.push_back({fresh("x"), Kind::Tensor, {3, 3}});
  for (int k = 1; k < count; ++k) info.parameters.push_back(parameter());
  std::string head;
  for (const Typed& each : info.parameters) head += (head.empty() ? "" : ", ") + each.text;
  if (random_.chance(25)) {
    const std::string n = fresh("n");
    info.defaults.push_back(n);
    head += fmt::format(", {} = {}", n, pick({"2", "3"}));
    declare({n, Kind::Int});
  }
  if (random_.chance(15)) {
    info.takes_rest = true;
    head += ", *rest";
  }
  if (random_.chance(10)) {
    info.takes_named = true;
    head += ", **named";
  }
  for (const Typed& each : info.parameters) declare(each);
  if (info.takes_rest) declare({"list(rest)", Kind::Ints});
  in_function_ = true;
  loops_ = 0;
  Statement made{fmt::format("fn {}({}) {{", info.name, head), {}, "}"};
  info.is_long = random_.chance(theme_ == Theme::Loops ? 60 : 5);
  statements(made.body, 2 + random_.below(info.is_long ? 2 : 6), 2);
  if (info.is_long) long_loop(made.body, random_.chance(10) ? 10 * kIterations : kIterations / 2);
  const int results = random_.below(10);
  if (results < 6) info.results = {tensor(2)};
  if (results == 6 || results == 7) info.results = {tensor_variable(), tensor(1)};
  std::string given;
  for (const Typed& each : info.results) given += (given.empty() ? "" : ", ") + each.text;
  if (results == 8) given = random_.chance(50) ? variable(Kind::Tensors).text : host(1);
  if (!given.empty()) made.body.push_back({"return " + given, {}, ""});
  in_function_ = false;
  scope_ = outer;
  program_.statements.push_back(std::move(made));
  program_.functions.push_back(info.name);
  functions_.push_back(std::move(info));
}

std::string Writer::arguments_within(const FunctionInfo& f) {
  std::string text;
  for (const Typed& each : f.parameters) {
    const std::string value =
        each.kind == Kind::Tensor ? tensor_of(each.shape).text : variable(each.kind).text;
    text += (text.empty() ? "" : ", ") + value;
  }
  return text;
}

}  // namespace kiln::testing

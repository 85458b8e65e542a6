// Derivatives: training steps with hooks and rates that change, transforms within transforms, derivatives of
// the program's own.
#include <utility>

#include <fmt/format.h>

#include "tests/capture/writer.h"

namespace kiln::testing {

// ---- Functions of one tensor, with values of its shape ----

std::string Writer::smooth(const std::string& v, int depth) {
  if (depth <= 0) return v;
  const std::string inner = smooth(v, depth - 1);
  switch (random_.below(14)) {
    case 0:
    case 1:
      return inner + pick({".sin()", ".cos()", ".tanh()", ".sigmoid()"});
    case 2:
      return fmt::format("({} * {})", inner, smooth(v, depth - 1));
    case 3:
      return fmt::format("({} + {})", inner, smooth(v, depth - 1));
    case 4:
      return fmt::format("({} * {})", inner, pick({"0.5", "gq", "gn", "-1.5"}));
    case 5:
      return inner + pick({".square()", ".exp()", ".relu()", ".abs()"});
    case 6:
      return fmt::format("({} / ({}.square() + 1))", inner, v);
    case 7:
      return fmt::format("({} * gv)", inner);
    case 8:
      return fmt::format("({0} - {0}.mean())", inner);
    case 9:
      return inner + ".softmax(-1)";
    case 10:
      return fmt::format("where({} > 0, {}, {})", v, inner, pick({v, v + " * 0.1"}));
    case 11:
      return fmt::format("({} * {}.sum())", inner, v);
    case 12:
      return fmt::format("({} @ gt)", inner);
    default:
      return own_derivative_.empty() ? inner + ".clone()"
                                     : fmt::format("{}({}, {})", own_derivative_, inner, digit(3));
  }
}

std::string Writer::mapping(int depth) {
  const std::string v = fresh("t");
  if (depth <= 0) return fmt::format("{} => {}", v, smooth(v, 1 + random_.below(3)));
  const std::string inner = mapping(depth - 1), u = fresh("t");
  switch (random_.below(9)) {
    case 0:
    case 1:
      return fmt::format("{} => grad({} => ({})({}).sum())({})", v, u, inner, u, v);
    case 2:
      return fmt::format("{0} => vjp({1}, {0})[1]({0} * 0.5)[0]", v, inner);
    case 3:
      return fmt::format("{0} => jvp({1}, ({0},), ({0} + 1,))[1]", v, inner);
    case 4:
      return fmt::format("{0} => vmap({1})({0})", v, inner);
    case 5:
      return fmt::format("{0} => value_and_grad({2} => ({1})({2}).square().mean())({0})[1]", v, inner, u);
    case 6:
      return fmt::format("{0} => linearize({1}, {0})[1]({0})", v, inner);
    case 7:
      return fmt::format("{0} => vmap({1}, in_dims={2}, out_dims={2})({0})", v, inner, pick({"0", "-1"}));
    default:
      return fmt::format("{0} => {1}({2})({0}).sum(0)", v, pick({"jacrev", "jacfwd"}), inner);
  }
}

void Writer::transforms() {
  const Typed x{"x", Kind::Tensor, {3, 3}};
  for (int k = 1 + random_.below(3); k > 0; --k) {
    Statement made{fmt::format("fn {}(x) {{", fresh("nest")), {}, "}"};
    const std::string name = made.head.substr(3, made.head.find('(') - 3);
    const std::string y = fresh("v");
    line(made.body, fmt::format("{} = ({})({})", y, mapping(1 + random_.below(3)),
                                pick({"x", "x", "x[0]", "x.float()", "x * 0.5"})));
    if (random_.chance(30)) line(made.body, pick({"print(gn)", "gn += 0", "gs.n += 1", "gks.append(1)"}));
    if (random_.chance(30)) line(made.body, fmt::format("{} = ({})({})", y, mapping(1), y));
    line(made.body, "return " + y);
    add_function(std::move(made), {name, {x}, {}, false, false, {}});
  }
}

// ---- A derivative of the program's own ----

void Writer::own_derivative() {
  Statement forward{"fn forward(ctx, x, k) {", {}, "}"}, backward{"fn backward(ctx, g) {", {}, "}"};
  const bool keeps_result = random_.chance(30);
  line(forward.body, "ctx.k = " + pick({"k", "k + 1", "gn"}));
  if (random_.chance(15)) line(forward.body, pick({"print(\"forward\", k)", "gks.append(k)", "gs.n += 1"}));
  line(forward.body, "y = " + smooth("x", 1 + random_.below(2)) + " * k");
  line(forward.body, keeps_result ? "ctx.save(x, y)" : "ctx.save(x)");
  line(forward.body, "return y");
  line(backward.body, keeps_result ? "(x, y) = ctx.saved" : "(x,) = ctx.saved");
  if (random_.chance(15)) line(backward.body, pick({"print(\"backward\")", "gks.append(7)", "gs.n += 1"}));
  if (random_.chance(10)) line(backward.body, "if ctx.needs_input_grad[0] { g = g * 2 }");
  line(backward.body, fmt::format("return g * {}{}, none", pick({"ctx.k", "x", "x.cos()", "gt", "2"}),
                                  keeps_result ? " + y" : ""));
  own_derivative_ = fresh("Own");
  program_.statements.push_back(
      {"autograd " + own_derivative_ + " {", {std::move(forward), std::move(backward)}, "}"});
  Statement made{"fn owned(x, n) {", {}, "}"};
  line(made.body, "w = x.detach().float().clone().requires_grad_()");
  line(made.body,
       fmt::format("y = {}(w, {}){}", own_derivative_, pick({"n", "2", "gq"}), pick({"", ".sin()", " * w"})));
  line(made.body,
       pick({"y.sum().backward()", "y.square().sum().backward()", "w.grad = grads(y.sum(), [w])[0]"}));
  line(made.body, pick({"return w.grad", "return y, w.grad", "return w.grad + y.detach()", "return w"}));
  add_function(std::move(made),
               {"owned", {{"x", Kind::Tensor, {3, 3}}, {"n", Kind::Int}}, {}, false, false, {}});
}

// ---- Training ----

// Parameters `ws` and a function `net` of them.
void Writer::model() {
  if (random_.chance(60)) {
    const std::string between = pick(
        {"nn.Tanh()", "nn.ReLU()", "nn.LayerNorm(4)", "nn.BatchNorm1d(4)", "nn.Dropout(0.5)", "nn.GELU()"});
    top(fmt::format("net = nn.Sequential(nn.Linear(3, 4), {}, nn.Linear(4, 3))", between));
    top("ws = parameters(net)");
  } else {
    top("ws = [randn(3, 3).requires_grad_(), zeros(3).requires_grad_()]");
    program_.statements.push_back({"fn net(x) {", {}, "}"});
    Block& body = program_.statements.back().body;
    line(body, "y = " + pick({"x @ ws[0] + ws[1]", "(x @ ws[0]).tanh() * ws[1]", "x * ws[1] + ws[0].sum()"}));
    if (random_.chance(40)) line(body, "y = " + smooth("y", 1));
    line(body, "return y");
  }
}

// One step: gradients, what is done with them, and the parameters after it.
void Writer::training() {
  top("import nn");
  top("import optim");
  model();
  top("opt = " + pick({"optim.SGD(ws, lr=0.1)", "optim.SGD(ws, lr=0.1, momentum=0.9)",
                       "optim.SGD(ws, lr=0.1, momentum=0.5, nesterov=true)", "optim.Adam(ws, lr=0.01)",
                       "optim.AdamW(ws, lr=0.01)", "optim.SGD(ws, lr=0.1, weight_decay=0.01)"}));
  top("log = []");
  Statement made{"fn learn(x) {", {}, "}"};
  Block& body = made.body;
  const bool clears_first = random_.chance(70);
  if (clears_first) line(body, pick({"opt.zero_grad()", "opt.zero_grad()", "for p in ws { p.grad = none }"}));
  const int parts = random_.chance(20) ? 2 : 1;
  for (int k = 0; k < parts; ++k) {
    line(body, "loss = " + pick({"(net(x) - 1.0).square().mean()", "net(x).square().sum()",
                                 "(net(x) * x.float()).mean()", "net(x).sin().sum()",
                                 "cross_entropy(net(x), arange(x.size(0)) % 3)"}));
    if (random_.chance(20)) line(body, "for p in ws { loss = loss + p.square().sum() * 0.01 }");
    if (random_.chance(20))
      line(body, "gg = grads(loss, ws, create_graph=true); loss = loss + gg[0].square().sum()");
    line(body, pick({"loss.backward()", "loss.backward()", "loss.backward(retain_graph=true)"}));
  }
  if (random_.chance(20)) line(body, "optim.clip_grad_norm(ws, 0.5)");
  if (random_.chance(30))
    line(body, pick({"opt.lr = opt.lr * 0.9", "opt.lr = gd[\"lr\"]", "opt.lr = 0.1 / (len(log) + 1)"}));
  if (random_.chance(75)) {
    line(body, "opt.step()");
  } else {
    body.push_back({"with no_grad() {", {{"for p in ws { p.sub_(p.grad * 0.1) }", {}, ""}}, "}"});
  }
  if (!clears_first) line(body, "opt.zero_grad()");
  if (random_.chance(30))
    line(body, pick({"log.append(loss.item())", "log.append(loss.detach())", "print(loss)"}));
  line(body, "return " + pick({"loss.detach()", "loss", "loss.detach(), ws[0].grad"}));
  add_function(std::move(made), {"learn", {{"x", Kind::Tensor, {3, 3}}}, {}, false, false, {}});
}

// Between steps.
void Writer::change_training() {
  switch (random_.below(9)) {
    case 0:
      return top("opt.lr = " + pick({"0.05", "0.2", "opt.lr * 0.5"}));
    case 1:
      return top("hook = ws[0].register_hook(" + pick({"g => g * 2", "g => g.clamp(-1, 1)"}) + ")");
    case 2:
      return top("hook.remove()");
    case 3:
      return top("heard = []; ws[0].register_post_accumulate_grad_hook(w => heard.append(w.grad.sum()))");
    case 4:
      return top("for p in ws { p.grad = " + pick({"none", "ones_like(p)"}) + " }");
    case 5:
      return top("ws[0].requires_grad_(" + pick({"false", "true"}) + ")");
    case 6:
      return top(pick({"net.eval()", "net.train()", "ws[1].data = ws[1].data * 0.5"}));
    case 7:
      return top(fmt::format("for k in range({}) {{ opt.lr = 0.1 / (k + 1); r = learn({}) }}",
                             3 + random_.below(20), fresh_tensor({3, 3}, Element::Float)));
    default:
      return top(fmt::format("r = learn(rand({}, 3))", 1 + random_.below(5)));
  }
}

}  // namespace kiln::testing

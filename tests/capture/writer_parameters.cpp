// Parameters that are frozen, thawed and shared, and optimizers over them.
#include <utility>

#include <fmt/format.h>

#include "tests/capture/writer.h"

namespace kiln::testing {

namespace {
const char* const kNet =
    "struct Net { a; b; c = none; on = true; fn call(self, x) { y = (x * self.a).sin() * self.b; if self.c "
    "is not none { y = y + self.c }; "
    "if self.on { y = y * 0.5 }; return y } }";
}

std::string Writer::new_parameter() {
  return row() + pick({".clone().requires_grad_()", ".clone().requires_grad_()", ".clone()"});
}

void Writer::new_optimizer() {
  top("opt = " + pick({"optim.SGD", "optim.SGD", "optim.Adam", "optim.AdamW", "optim.SGD", "optim.RMSprop"}) +
      pick({"(parameters(net), lr=0.1)", "(parameters(net), lr=0.1)", "([net.a, net.b], lr=0.1)",
            "([w for w in [net.a, net.b, net.c, gw] if w is not none and w.requires_grad], lr=0.05)",
            "(parameters([net, second]), lr=0.1)", "(parameters(net) + [gw], lr=0.01)"}));
}

void Writer::parameters() {
  width_ = random_.chance(20) ? 300 : 3;
  top("import nn");
  top("import optim");
  top(kNet);
  top("gw = " + new_parameter());
  top("wa = " + new_parameter());
  top(fmt::format("net = Net({})",
                  pick({"wa, wa", "wa, gw", "wa, " + new_parameter() + ", " + new_parameter(), "wa, wa, wa",
                        "wa, gw, wa"})));
  top(fmt::format("second = {}", pick({"net", "Net(net.a, net.b)", "Net(" + new_parameter() + ", net.a)",
                                       "Net(wa, " + row() + ", gw)"})));
  new_optimizer();
  top("log = []");
  Statement made{"fn learn(x) {", {}, "}"};
  Block& body = made.body;
  if (random_.chance(70)) line(body, "opt.zero_grad()");
  line(body, "loss = " + pick({"net(x).square().mean()", "(net(x) + second(x)).square().sum()",
                               "(net(second(x)) - 1.0).square().mean()",
                               "functional_call(net, state_dict(net), x).square().mean()"}));
  if (random_.chance(30))
    line(body, pick({"for w in parameters(net) { loss = loss + w.square().sum() * 0.01 }",
                     "loss = loss + num_parameters(net)",
                     "loss = loss + sum([w.sum() for _, w in named_parameters(second)]) * 0.1"}));
  line(body, "if loss.requires_grad { loss.backward() }");
  if (random_.chance(30))
    line(body,
         pick({"optim.clip_grad_norm(parameters(net), 0.5)", "log.append(num_parameters(net))",
               "if net.a.requires_grad { net.a.requires_grad_(false) }", "with no_grad() { net.a.mul_(0.9) }",
               "net.on = not net.on", "net.b = net.a", "opt.lr = opt.lr * 0.9"}));
  line(body, pick({"opt.step()", "opt.step()",
                   "with no_grad() { for w in parameters(net) { if w.grad is not none { w.sub_(w.grad * 0.1) "
                   "} } }"}));
  line(body, "return " + pick({"loss.detach()", "loss", "loss.detach(), net.a.grad is none"}));
  add_function(std::move(made), {"learn", {}, {}, false, false, {}});
  for (int count = 4 + random_.below(6); count > 0; --count) {
    const std::string r = fresh("r");
    top(random_.chance(30)
            ? fmt::format("for i in range({}) {{ {} = learn({}) }}", 5 + random_.below(25), r, row())
            : fmt::format("{} = learn({})", r, row()));
    if (random_.chance(60)) change_parameters();
  }
}

void Writer::change_parameters() {
  switch (random_.below(12)) {
    case 0:
    case 1:
    case 2:
      return top(pick({"net.a", "net.b", "gw", "wa", "second.a"}) + ".requires_grad_(" +
                 pick({"false", "true"}) + ")");
    case 3:
      return top(pick({"net.b = net.a", "net.c = net.a", "second.a = net.b", "net.a = gw", "net.c = none"}));
    case 4:
      return top(pick({"net.a", "net.b", "net.c"}) + " = " + new_parameter());
    case 5:
      return new_optimizer();
    case 6:
      return top(pick({"for w in parameters(net) { w.requires_grad_(false) }",
                       "for w in [net.a, net.b] { w.requires_grad_(true) }"}));
    case 7:
      return top(pick({"print(num_parameters(net), [n for n, _ in named_parameters(net)])",
                       "print([n for n, _ in named_parameters([net, second])])"}));
    case 8:
      return top(pick({"state = state_dict(net); load_state_dict(net, state)",
                       "kept = opt.state_dict(); opt.load_state_dict(kept)"}));
    case 9:
      return top(fmt::format(
          "ws, bs = stack_module_state([net, net]); m = vmap(p => functional_call(net, p, {}))(ws)", row()));
    case 10:
      return top(pick({"net.a.grad = none", "opt.zero_grad()", "net.a.grad = ones_like(net.a)"}));
    default:
      return top(pick({"opt.lr = 0.05", "net.on = true", "with no_grad() { wa.mul_(0.5) }",
                       "net.a.data = net.a.data * 0.5"}));
  }
}

}  // namespace kiln::testing

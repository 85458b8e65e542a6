// `autograd` functions of the program's own, of which each theme looks at one side: effects on the host while
// their forward runs, host arguments that change later, captured tensors that are written, arguments that
// they write.
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "tests/capture/writer.h"

namespace kiln::testing {

namespace {

// Ways to give an `autograd` function a host value, with what its bodies read of it.
struct HostArgument {
  std::vector<std::string> given;
  std::vector<std::string> read;
};
const std::vector<HostArgument>& host_arguments() {
  static const std::vector<HostArgument> kAll{
      {{"l", "gl", "[n, 2]", "l", "[k, l[0]]"}, {"o[0]", "o[-1]", "len(o)", "sum(o)"}},
      {{"d", "gm", "{\"a\": n}", "d"}, {"o[\"a\"]", "o.get(\"n\", 1)", "o[\"a\"]", "len(o)"}},
      {{"s", "gk", "s", "Kept(n)"}, {"o.n", "o.q", "o.n", "len(o.all)"}},
      {{"z => z * n", "h", "z => z * l[0]", "z => z + gk.n", "z => z * d[\"a\"]", "s", "gk", "z => z * c"},
       {"o(1.0)", "o(2.0)", "o(1.0)"}},
      {{"n", "k", "l[0]", "s.n", "gk.n", "gn", "2", "0.5"}, {"o", "o", "(o + 1)"}},
      {{"(n, l)", "(k, gl)", "(s.n, [gk.n])"}, {"o[0]", "o[1][0]", "len(o[1])"}},
      {{"[l, d]", "[gl, gm]"}, {"o[0][0]", "o[1][\"a\"]", "len(o[0])"}},
  };
  return kAll;
}

// With the context's field `o` where the argument `o` stood.
std::string of_context(std::string read) { return read.replace(read.find_last_of('o'), 1, "ctx.o"); }

}  // namespace

// How strongly a theme wants each side, in percent.
Writer::Sides Writer::sides() {
  switch (theme_) {
    case Theme::Effects:
      return {70, 60, 30, 20, 0};
    case Theme::Arguments:
      return {10, 50, 90, 10, 0};
    case Theme::Captured:
      return {10, 40, 20, 90, 0};
    case Theme::Writing:
      return {15, 30, 30, 20, 80};
    default:
      return {25, 30, 40, 40, 8};
  }
}

// What forward leaves in its context, and what backward reads of it.
void Writer::choose_kept(Own& own) {
  const std::vector<std::pair<std::string, std::string>> all{
      {"ctx.o = o", of_context(pick(host_arguments()[own.argument].read))},
      {"ctx.o = o", of_context(pick(host_arguments()[own.argument].read))},
      {"ctx.o = gl", "ctx.o[0]"},
      {"ctx.o = gk", "ctx.o.n"},
      {"ctx.n = gk.n", "ctx.n"},
      {"ctx.o = [gn, gk.n]", "ctx.o[1]"},
      {"ctx.t = gt", "ctx.t"},
      {"ctx.o = gc", "ctx.o[0]"},
      {"ctx.o = [x, y]", "ctx.o[1]"},
      {"ctx.t = y", "ctx.t"},
      {"ctx.t = gk.t", "ctx.t"},
  };
  std::tie(own.kept, own.read) = random_.pick(all);
}

std::string Writer::multiplied(const std::string& x, const Own& own) {
  const Sides of = sides();
  if (random_.chance(of.captured)) return fmt::format("{} {} {}", x, pick({"*", "+"}), captured(own));
  if (random_.chance(of.arguments))
    return fmt::format("{} * {}", x, pick(host_arguments()[own.argument].read));
  return fmt::format("{} * {}", x, pick({"2", "gk.n", "gn", "gl[0]", "gm[\"a\"]", "gk.q", "0.5"}));
}

std::string Writer::captured(const Own& own) {
  if (own.is_local && random_.chance(60)) return pick({"c", "b[0]", "c", "s.t"});
  return pick({"gt", "gc[0]", "gk.t", "gw", "gc[-1]"});
}

std::string Writer::effect(const Own& own) {
  if (own.is_local && random_.chance(60))
    return pick({"l[0] += 1", "n += 1", "s.n += 1", "s.step()", "d[\"a\"] *= 0.5", "l.append(n)", "c = c * 2",
                 "b[0] = x.detach()"});
  return pick({"gk.n += 1", "gk.step()", "gl.append(gk.n)", "gl[0] = gl[0] + 0.5", "gm[\"a\"] += 1",
               "gk.all.append(1)", "print(\"in\", gk.n)", is_one_text_ ? "gn += 1" : "gk.n += 2",
               "gk.q = gk.q * 0.5", "gm[\"n\"] = gn", "gk.t = x.detach()", "gc[0] = gc[0] * 2",
               "gk.all = [gk.n]", "gk.n = gk.n * 2"});
}

void Writer::forward_of(Block& body, const Own& own) {
  const Sides of = sides();
  if (is_one_text_) line(body, "nonlocal gn");
  if (own.is_local) line(body, "nonlocal n, c");
  line(body, "y = x * 1");
  for (int count = 1 + random_.below(4); count > 0; --count) {
    if (random_.chance(of.effects)) line(body, effect(own));
    if (random_.chance(of.effects / 4))
      body.push_back({fmt::format("for j in range({}) {{", pick({"2", "3"})), {{effect(own), {}, ""}}, "}"});
    if (random_.chance(of.breaks / 2))
      line(body,
           pick({"if x.sum() > 0 { y = y * 2 }", "q = x[0].item(); y = y + q", "print(x.sum() > 1)",
                 "if x[0] > 0 { gk.n += 1 }", "if x.sum() > -100 { return " + multiplied("x", own) + " }",
                 "y = y * int(x.sum() > 0)", "for v in x[0:2].tolist() { y = y + v }"}));
    if (random_.chance(of.captured / 3))
      line(body, captured(own) + pick({".add_(1)", ".mul_(0.5)", ".neg_()", "[0] = 2"}));
    if (random_.chance(8)) line(body, pick({"y = y + rand_like(x)", "y = dropout(y, 0.5)"}));
    if (random_.chance(6))
      line(body, pick({"y = checkpoint(z => z.sin())(y)", "y = vmap(z => z * 2)(y)", "y = gk(y)"}));
    line(body, "y = " + multiplied("y", own));
  }
  if (random_.chance(own.writes ? 100 : 0)) {
    line(body, pick({"x.mul_(2)", "x.add_(1)", "x[0] = 3", "x[1:].mul_(2)", "x.detach().mul_(2)",
                     "x.copy_(y.detach())"}));
    if (own.marks) line(body, "ctx.mark_dirty(x)");
  }
  if (own.keeps) {
    line(body, pick({"ctx.save(x)", "ctx.save(y)", "ctx.save(x, y)"}));
  }
  line(body, own.kept);
  if (own.results == 2) return line(body, "return y, " + pick({"y * 2", "x * 3", "y.detach()", "x + 1"}));
  line(body, "return " + (own.writes ? pick({"x", "x", "x", "y", "x * 1"})
                                     : pick({"y", "y", "y", "y", "y", "y.view(-1)", "x", "y[:]", "x[:]"})));
}

void Writer::backward_of(Block& body, const Own& own) {
  const Sides of = sides();
  if (is_one_text_) line(body, "nonlocal gn");
  line(body, own.results == 2 ? "v = g + g2" : "v = g * 1");
  if (!own.read.empty() && random_.chance(60)) line(body, "v = v * " + own.read);
  for (int count = 1 + random_.below(2); count > 0; --count) {
    if (random_.chance(of.effects / 2))
      line(body, pick({"gk.n += 1", "gl[0] = gl[0] + 0.5", "print(\"back\", gn)",
                       is_one_text_ ? "gn += 1" : "gk.n += 2", "gk.all.append(2)"}));
    if (random_.chance(of.breaks / 4))
      line(body, pick({"if g.sum() > 0 { v = v * 2 }", "v = v * g[0].item()"}));
    if (random_.chance(40) && own.keeps) line(body, "v = v * ctx.saved[0]");
    if (random_.chance(of.captured)) line(body, "v = v * " + captured(own));
    if (random_.chance(of.captured / 5)) line(body, pick({"gt.add_(1)", "gc[0].mul_(0.5)"}));
    if (random_.chance(of.arguments / 2))
      line(body, "v = v * " + (own.is_local ? pick({"n", "l[0]", "d[\"a\"]", "s.n"})
                                            : pick({"gk.n", "gn", "gl[0]", "gm[\"a\"]", "gk.q"})));
    if (random_.chance(15)) line(body, "if ctx.needs_input_grad[0] { v = v * 2 }");
  }
  line(body, "return v, none");
}

// Its name is remembered, with what it is to be given. A local one is a closure of a function of the world.
void Writer::own_function(Block& block, bool is_local) {
  const Sides of = sides();
  Own own;
  own.name = fresh("Own");
  own.argument = static_cast<std::size_t>(random_.below(static_cast<int>(host_arguments().size())));
  own.is_local = is_local;
  own.writes = random_.chance(of.writes);
  own.marks = random_.chance(60);
  own.keeps = random_.chance(40);
  own.results = own.writes || random_.chance(85) ? 1 : 2;
  choose_kept(own);
  Statement forward{"fn forward(ctx, x, o) {", {}, "}"};
  Statement backward{own.results == 2 ? "fn backward(ctx, g, g2) {" : "fn backward(ctx, g) {", {}, "}"};
  forward_of(forward.body, own);
  backward_of(backward.body, own);
  // A plain body may write to its argument and say nothing of it, a forward may not.
  const bool has_law = has_body_law_ && !is_local && (!own.writes || own.marks);
  if (has_law) {
    forward.head = fmt::format("fn body{}(ctx, x, o) {{", own.name);
    block.push_back(std::move(forward));
    forward = {fmt::format("fn forward(ctx, x, o) = body{}(ctx, x, o)", own.name), {}, ""};
  }
  block.push_back({"autograd " + own.name + " {", {std::move(forward), std::move(backward)}, "}"});
  if (has_law) {
    const std::string applied = "apply" + own.name;
    add_law("a forward's body", fmt::format("fn {}(x, o) = {}(x, o)", applied, own.name),
            fmt::format("fn {}(x, o) = body{}(Bare(), x, o)", applied, own.name));
    own.name = applied;
  }
  owns_.push_back(std::move(own));
}

// A call, of one of them, that gives `y`.
void Writer::own_call(Block& block, bool in_loop) {
  const Own& own = random_.pick(owns_);
  std::vector<std::string> given = host_arguments()[own.argument].given;
  if (in_loop && own.argument == 3) given = {"z => z * (i + 1)", "z => z * i", "h", "z => z * n"};
  if (in_loop && own.argument == 4) given = {"i", "i + 1", "n"};
  if (in_loop && own.argument == 0) given = {"l", "[i, 2]", "gl"};
  const std::string o = pick(given);
  const std::string x = pick({"y", "y", "y", "y", "y * 1", "x", "c", "y.clone()"});
  if (own.results == 2)
    return line(block,
                fmt::format("y, u = {}({}, {}){}", own.name, x, o, random_.chance(50) ? "; y = y + u" : ""));
  switch (random_.below(has_body_law_ ? 6 : 14)) {
    case 6:
      return line(block, fmt::format("y = vmap(z => {}(z, {}))({}.view(1, -1)).view(-1)", own.name, o, x));
    case 7:
      return line(block, fmt::format("y = checkpoint(z => {}(z, {}))({})", own.name, o, x));
    case 8:
      return line(block, fmt::format("y = grad(z => {}(z, {}).sum())({})", own.name, o, x));
    case 9:
      return line(block, fmt::format("y = {0}({0}({1}, {2}), {2})", own.name, x, o));
    case 10:
      return line(block, fmt::format("t = {}; y = {}(t, {}); y = y + t", x, own.name, o));
    default:
      return line(block, fmt::format("y = {}({}, {})", own.name, x, o));
  }
}

void Writer::custom() {
  if (has_body_law_)
    top("struct Bare { saved = (); o = none; n = 0; t = none; fn save(self, *all) { self.saved = all }; fn "
        "mark_dirty(self, *all) { } }");
  has_local_owns_ = true;
  for (int k = 1 + random_.below(2); k > 0; --k) own_function(program_.statements, false);
  for (int k = 1 + random_.below(2); k > 0; --k)
    world_function([&](Block& block, bool in_loop) { own_call(block, in_loop); });
}

}  // namespace kiln::testing

// Loops of many iterations, which are compiled by iterations: at the top level, and where they are too long
// to be unrolled.
#include <fmt/format.h>

#include <utility>

#include "tests/capture/writer.h"

namespace kiln::testing {

void Writer::long_loop(Block& block, int most_iterations) {
  const std::vector<Shape> shapes{{3}, {3, 3}, {3, 3}, {2, 3}, {}};
  const Carried carried{
      {fresh("v"), Kind::Tensor, random_.pick(shapes)}, {fresh("q"), Kind::Float}, {fresh("n"), Kind::Int}};
  line(block, carried.tensor.text + " = " + fresh_tensor(carried.tensor.shape, Element::Float));
  line(block, carried.real.text + " = " + pick({"0.5", "1.0", "-0.75"}));
  line(block, carried.integer.text + " = " + digit(4));
  declare(carried.tensor);
  declare(carried.real);
  declare(carried.integer);
  const std::vector<Typed> before = scope_;
  Statement made = long_loop_head(block, most_iterations);
  ++loops_;
  const bool outer = std::exchange(in_long_loop_, true);
  for (int k = 1 + random_.below(3); k > 0; --k) carry(made.body, carried);
  statements(made.body, random_.below(3), 1);
  in_long_loop_ = outer;
  --loops_;
  scope_ = before;
  block.push_back(std::move(made));
}

// What is gone over. Its items are declared.
Statement Writer::long_loop_head(Block& block, int most_iterations) {
  const std::string i = fresh("i"), t = fresh("t");
  const std::string n =
      std::to_string(most_iterations / 3 + random_.below(most_iterations - most_iterations / 3 + 1));
  Statement made{"", {}, "}"};
  switch (random_.below(9)) {
    case 0: {
      const std::string counter = fresh(kCounter);
      line(block, counter + " = 0");
      made.head = fmt::format("while {} < {} {{", counter, n);
      line(made.body, counter + " += 1");
      declare({counter, Kind::Int});
      break;
    }
    case 1:
      made.head = fmt::format("for {} in rand({}, 3) {{", t, n);
      declare({t, Kind::Tensor, {3}});
      break;
    case 2:
      made.head = fmt::format("for {}, {} in enumerate([gt, ones(3, 3), gt * 2] * ({} // 3)) {{", i, t, n);
      declare({i, Kind::Int});
      declare({t, Kind::Tensor, {3, 3}});
      break;
    case 3:
      made.head = fmt::format("for {}, {} in zip(range({}), [k * 0.25 for k in range({})]) {{", i, t, n, n);
      declare({i, Kind::Int});
      declare({t, Kind::Float});
      break;
    case 4:
      made.head = fmt::format("for {} in range({}, 0, -1) {{", i, n);
      declare({i, Kind::Int});
      break;
    default:
      made.head = fmt::format("for {} in range({}) {{", i, n);
      declare({i, Kind::Int});
      break;
  }
  return made;
}

// A value that goes from iteration to iteration.
void Writer::carry(Block& block, const Carried& carried) {
  const std::string &x = carried.tensor.text, &q = carried.real.text, &n = carried.integer.text;
  const std::string other = tensor_of(carried.tensor.shape).text, i = variable(Kind::Int).text;
  switch (random_.below(22)) {
    case 0:
      return line(block,
                  fmt::format("{0} = {0} * {1} + {2}", x, pick({"0.5", "0.9", q}), pick({i, n, other})));
    case 1:
      return line(block,
                  fmt::format("{0} = ({0} + {1}).{2}()", x, other, pick({"sin", "tanh", "cos", "relu"})));
    case 2:
      return line(block, fmt::format("{}.mul_({}).add_({})", x, pick({"0.5", q}), pick({other, i, q})));
    case 3:
      return line(block, fmt::format("{0} = {0} - {0}.mean()", x));
    case 4:
      return line(block, fmt::format("{0} = {0} * 0.5 + {1}_like({0})", x, pick({"rand", "randn", "ones"})));
    case 5:
      return line(block, fmt::format("{0} = dropout({0}, 0.25) * 0.5", x));
    case 6:
      return line(block, fmt::format("if {} == {} {{ {} = {}.to({}) }}", i, digit(6), x, x,
                                     pick({"f64", "f32", "f16", "bf16"})));
    case 7:
      return line(block, fmt::format("{0} = {0} * {1}", q, pick({"0.5", "-1", "1.25"})));
    case 8:
      return line(block, fmt::format("{0} = {0} + {1} * 0.5", q, i));
    case 9:
      return line(block, fmt::format("{0} = ({0} * 3 + {1}) % 7", n, i));
    case 10:
      return line(block, fmt::format("{} += 1", n));
    case 11:
      return line(block,
                  fmt::format("if {} % {} == 0 {{ {} = {} + 1 }}", pick({n, i}), pick({"2", "3"}), x, x));
    case 12:
      return line(block, fmt::format("if {}.sum() > {} {{ {} }}", x, pick({"5", "0", "40"}),
                                     pick({"break", x + " = " + x + " * 0.25", "continue"})));
    case 13:
      return line(block, fmt::format("if {} == {} {{ {} }}", i, digit(9),
                                     pick({"continue", "break", "print(" + q + ")"})));
    case 14:
      return line(block, fmt::format("gxs[{} % len(gxs)] = {}", i, tensor_of({3, 3}).text));
    case 15:
      return line(block, fmt::format("gks[{} % len(gks)] += {}", i, pick({"1", i})));
    case 16:
      return line(block, fmt::format("gd[\"{0}\"] = gd[\"{0}\"] {1} {2}", pick({"n", "lr"}), pick({"+", "*"}),
                                     pick({"2", q, i})));
    case 17:
      return line(block,
                  pick({"gs.n += 1", "gs.w = gs.w * 0.5", "gs.log.append(" + n + ")", "gs.on = not gs.on"}));
    case 18:
      return line(block, fmt::format("print({}, {})", i, pick({q, n, x + ".sum()"})));
    case 19:
      return line(block, fmt::format("{0} = {0} + {1}[{2} % {1}.size(0)]", x, pick({"gv", "gt"}), i));
    case 20:
      return line(block,
                  fmt::format("{0}[..., {1} % 3] += {2}", carried.tensor.shape.empty() ? "gv" : x, i, q));
    default:
      return descend(block, carried);
  }
}

// A step down the slope of what the loop computes.
void Writer::descend(Block& block, const Carried& carried) {
  const std::string w = fresh("w"), loss = fresh("l");
  line(block, fmt::format("{} = {}.detach().float().clone().requires_grad_()", w, carried.tensor.text));
  line(block, fmt::format("{} = ({} * {} - {}).square().mean()", loss, w, pick({"2.0", carried.real.text, w}),
                          tensor_of(carried.tensor.shape).text));
  if (random_.chance(50)) {
    line(block, loss + ".backward()");
    line(block, fmt::format("{} = {}.detach() - {}.grad * {}", carried.tensor.text, w, w,
                            pick({"0.1", carried.real.text})));
  } else {
    line(block, fmt::format("{} = {}.detach() - grads({}, [{}])[0] * 0.1", carried.tensor.text, w, loss, w));
  }
}

}  // namespace kiln::testing

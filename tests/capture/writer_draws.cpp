// Random numbers under `vmap`, drawn for each example or once for all, of any chunk: numbers and generator
// are those of the whole batch.
#include <utility>

#include <fmt/format.h>

#include "tests/capture/writer.h"

namespace kiln::testing {

// A number or a tensor of the shape of `t`.
std::string Writer::draw(const std::string& t) {
  const std::string n = std::to_string(width_);
  switch (random_.below(18)) {
    case 0:
      return "rand(" + n + ")";
    case 1:
      return "randn(" + n + ")";
    case 2:
      return "rand_like(" + t + ")";
    case 3:
      return "randn_like(" + t + ")";
    case 4:
    case 5:
      return fmt::format("dropout({}, {})", t, pick({"0.5", "0.25", "0.9"}));
    case 6:
      return fmt::format("({} * 1).normal_({})", t, pick({"", "0.5, 2"}));
    case 7:
      return fmt::format("{}.clone().uniform_({})", t, pick({"", "-1, 1"}));
    case 8:
      return fmt::format("{}.clone().bernoulli_({})", t, pick({"", "0.25"}));
    case 9:
      return fmt::format("bernoulli({}.sigmoid())", t);
    case 10:
      return fmt::format("randperm({})", n);
    case 11:
      return fmt::format("randint(0, 5, ({},))", n);
    case 12:
      return fmt::format("multinomial({}.abs() + 1, {}, replacement=true)", t, n);
    case 13:
      return "rand(1)";
    case 14:
      return pick({"rand_like(gt)", "dropout(gt, 0.5)", "randn_like(gc[0])"});
    case 15:
      return fmt::format("zeros({}).normal_()", n);
    case 16:
      return fmt::format("{}[randperm({})]", t, n);
    default:
      return pick({"randn(1)", "rand(2).sum()", "zeros_like(" + t + ").uniform_()"});
  }
}

// A function of one example.
std::string Writer::drawing() {
  std::string text = "fn(t) { ";
  for (int count = 1 + random_.below(3); count > 0; --count) {
    const std::string drawn = draw(pick({"t", "t", "(t * 0.5)"}));
    switch (random_.below(12)) {
      case 0:
        text += fmt::format("for j in range({}) {{ t = t + {} }}; ", pick({"2", "k", "3"}), drawn);
        break;
      case 1:
        text += fmt::format("if k > 0 {{ t = t * {} }}; ", drawn);
        break;
      case 2:
        text += fmt::format("t = grad(v => (v * {}).sum())(t); ", draw("v"));
        break;
      case 3:
        text += fmt::format("t = checkpoint(v => v.sin() * {})(t); ", draw("v"));
        break;
      case 4:
        text +=
            fmt::format("t = vmap(v => v + rand(1)[0], randomness=\"{}\")(t); ", pick({"same", "different"}));
        break;
      case 5:
        text +=
            fmt::format("u = t * 1; u.{}; t = t + u; ", pick({"normal_()", "bernoulli_(0.5)", "uniform_()"}));
        break;
      case 6:
        text += "t = t.sin() * " + number_read() + "; ";
        break;
      case 7:
        text += fmt::format("t = jvp(v => v * {}, (t,), (t + 1,))[1]; ", draw("v"));
        break;
      default:
        text += fmt::format("t = t {} {}; ", pick({"+", "*"}), drawn);
        break;
    }
  }
  return text + "return t }";
}

void Writer::draw_call(Block& block) {
  const std::string made = drawing();
  const std::string batch = pick({"stack([y, y * 2, y + 1, x, x * 3][:k + 3])", "stack([y, x, y])",
                                  "stack([y, y, y, x, y * 0.5])", "y.expand(4, -1)"});
  const std::string out = pick({".sum(0)", ".mean(0)", "[0]", "[-1]", "[1]", ".amax(0)"});
  switch (random_.below(9)) {
    case 0:
      line(block,
           fmt::format("m = stack([y, x, y * 2], dim=1); y = batched({}, in_dims=1, out_dims=1)(m).sum(1)",
                       made));
      break;
    case 1:
      line(block, fmt::format("y = batched(fn(t, o) {{ return ({})(t) * o }}, in_dims=(0, none))({}, y){}",
                              made, batch, out));
      break;
    case 2:
      line(block, fmt::format("y = grad(w => batched({})(w.expand(3, -1)).sum())(y)", made));
      break;
    case 3:
      line(block, fmt::format("y = batched(grad(w => ({})(w).sum()))({}){}", made, batch, out));
      break;
    case 4:
      line(block, fmt::format("m = batched({0})({1}); if not equal(m[0], m[1]) {{ y = y + 1 }}; y = y + m{2}",
                              made, batch, out));
      break;
    default:
      line(block, fmt::format("y = batched({})({}){}", made, batch, out));
  }
  if (random_.chance(50))
    line(block,
         pick({"y = y + rand(1)", "print(rand(1).item())", "y = dropout(y, 0.5)", "y = y * rand_like(y)"}));
}

void Writer::draws() {
  const std::string randomness = fmt::format("randomness=\"{}\"", pick({"same", "different", "different"}));
  const std::string head = "fn batched(f, in_dims=0, out_dims=0) = vmap(f, in_dims, out_dims, " + randomness;
  if (random_.chance(70)) {
    add_law("chunk_size", fmt::format("{}, chunk_size={})", head, pick({"1", "2", "3", "7"})), head + ")");
  } else {
    top(head + ")");
  }
  for (int k = 1 + random_.below(2); k > 0; --k)
    world_function([&](Block& block, bool) { draw_call(block); });
}

}  // namespace kiln::testing

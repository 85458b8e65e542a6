// `checkpoint` of functions whose variables are bound anew, and whose surroundings change, before backward
// computes them again. What they give is what they give without it.
#include <utility>

#include <fmt/format.h>

#include "tests/capture/writer.h"

namespace kiln::testing {

// A function of `z`, which reads what is around.
std::string Writer::kept_body(bool in_loop) {
  const std::vector<std::string> counter =
      in_loop ? std::vector<std::string>{"(i + 1)", "i"} : std::vector<std::string>{};
  const std::string number = number_read(counter), other = number_read(counter), t = tensor_read();
  switch (random_.below(16)) {
    case 0:
      return fmt::format("z => (z * {}).sin()", number);
    case 1:
      return fmt::format("z => (z * {}).tanh() * {}", number, other);
    case 2:
      return fmt::format("z => (z * {} + {}).sin()", t, number);
    case 3:
      return fmt::format("z => h(z).cos() * {}", number);
    case 4:
      return fmt::format("z => s(z * {}).sin()", number);
    case 5:
      return fmt::format("fn(z) {{ for j in range({}) {{ z = (z * {}).sin() }}; return z }}",
                         pick({"n % 3 + 1", "2", "len(l)", "k + 1"}), number);
    case 6:
      return fmt::format("fn(z) {{ if {} > {} {{ z = z.sin() }} else {{ z = z.cos() * {} }}; return z }}",
                         number, digit(4), other);
    case 7:
      return fmt::format("fn(z) {{ if z.sum() > {} {{ z = z * {} }}; return z.sin() }}", digit(3), number);
    case 8:
      return fmt::format("fn(z) {{ u = z * {}; u.{}; return u.sin() * z }}", number,
                         pick({"add_(1)", "mul_(2)", "neg_()", "relu_()"}));
    case 9:
      return fmt::format("z => dropout(z.sin(), 0.5) * {}", number);
    case 10:
      return fmt::format("z => (z * rand_like(z) + {}).sin()", number);
    case 11:
      return fmt::format("z => kept(u => (u * {}).sin())(z) * {}", number, other);
    case 12:
      return fmt::format("z => (z * sum([v * {} for v in l])).sin()", number);
    case 13:
      return fmt::format("z => (z * {}).sin() * z.item() * 0.1 if z.numel() == 1 else (z * {}).cos()", number,
                         other);
    case 14:
      return owns_.empty() ? fmt::format("z => z.exp() * {} * 0.01", number)
                           : fmt::format("z => {}(z, {}).sin()", owns_[0].name, number);
    default:
      return fmt::format("z => (z * {}).sin().cos()", pick({number, "(" + number + " + " + other + ")"}));
  }
}

void Writer::kept_call(Block& block, bool in_loop) {
  const std::string body = kept_body(in_loop);
  switch (random_.below(10)) {
    case 0: {
      const std::string name = fresh("e");
      line(block, fmt::format("{} = {}", name, body));
      line(block, fmt::format("y = kept({})(y)", name));
      return line(block, fmt::format("{} = {}", name, pick({"z => z", "none", "z => z * 3"})));
    }
    case 1:
      return line(block, fmt::format("y = kept((z, o) => z.sin() * o[0])(y, {})",
                                     pick({"l", "gl", "[n]", "b", "gc"})));
    case 2:
      return line(block, fmt::format("y = kept((z, o) => z.sin() * o[\"a\"])(y, {})",
                                     pick({"d", "gm", "{\"a\": c}"})));
    case 3:
      return line(block, fmt::format("y = kept((z, o = 1, *q, **e) => z.sin() * o * len(e))(y, {})",
                                     pick({"o=n", "n, 2, r=k", "k, w=l[0]"})));
    case 4:
      return line(block, pick({"y = kept(s)(y).sin()", "y = kept(h)(y).sin()", "y = kept(gk)(y).sin()",
                               "y = kept((z, o) => o(z).sin())(y, h)",
                               "y = kept((z, o) => (z * o.n + o.t).sin())(y, s)"}));
    case 5:
      return line(block,
                  fmt::format("y, u = kept(z => (({})(z), z * {}))(y); y = y + u", body, number_read()));
    case 6:
      return line(
          block,
          fmt::format(
              "y = {}",
              pick({fmt::format("kept(vmap({}, randomness=\"different\"))(y.view(1, -1)).view(-1)", body),
                    fmt::format("grad(z => kept({})(z).sum())(y)", body),
                    fmt::format("vmap(kept({}), randomness=\"different\")(y.view(1, -1)).view(-1)", body)})));
    default:
      return line(block, fmt::format("y = kept({})(y)", body));
  }
}

// With a law there is nothing that a second run does again: no effects.
void Writer::checkpoints() {
  if (random_.chance(80)) {
    add_law("checkpoint", "fn kept(f) = checkpoint(f)", "fn kept(f) = f");
  } else {
    top("fn kept(f) = checkpoint(f)");
  }
  if (random_.chance(25)) {
    Own own;
    own.name = fresh("Own");
    own.argument = 4;
    program_.statements.push_back(
        {"autograd " + own.name + " {",
         {{fmt::format("fn forward(ctx, x, o) {{ ctx.save(x); ctx.o = o; return x * o * {} }}",
                       pick({"gk.n", "2", "gl[0]"})),
           {},
           ""},
          {"fn backward(ctx, g) { return g * ctx.o * ctx.saved[0], none }", {}, ""}},
         "}"});
    owns_.push_back(std::move(own));
  }
  for (int k = 1 + random_.below(2); k > 0; --k)
    world_function([&](Block& block, bool in_loop) { kept_call(block, in_loop); });
}

}  // namespace kiln::testing

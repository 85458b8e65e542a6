// What a program has most of: sizes that change between calls, dtypes, numbers in containers, …
#include <utility>

#include <fmt/format.h>

#include "tests/capture/writer.h"

namespace kiln::testing {

void Writer::add_function(Statement made, FunctionInfo info) {
  program_.functions.push_back(info.name);
  program_.statements.push_back(std::move(made));
  functions_.push_back(std::move(info));
}

// The functions and the outside state of the theme; at times of another one, too.
void Writer::begin_theme() {
  const auto has = [&](Theme theme, int otherwise) { return theme_ == theme || random_.chance(otherwise); };
  if (has(Theme::Numbers, 8)) numbers();
  if (has(Theme::Derivatives, 8)) own_derivative();
  if (has(Theme::Transforms, 5)) transforms();
  if (has(Theme::Sizes, 5)) sizes();
  if (theme_ == Theme::Training) training();
  if (theme_ == Theme::Backends) backends();
}

void Writer::change_theme() {
  if (theme_ == Theme::Training) return change_training();
  if (has_numbers_) return change_numbers();
}

// ---- Sizes ----

std::string Writer::size_of(const std::string& x, int depth) {
  if (depth <= 0) return pick({x + ".size(0)", x + ".shape[1]", "a", "b", x + ".numel()", "len(" + x + ")"});
  return fmt::format("({} {} {})", size_of(x, depth - 1), pick({"+", "*", "//", "-"}), pick({"1", "2", "k"}));
}

// A function of one tensor of any two sizes, `a` and `b`, which its signature may name.
void Writer::sized_function() {
  const std::string name = fresh("sized");
  Statement made{
      fmt::format("fn {}(x{}, k = 2) {{", name, random_.chance(50) ? ": tensor[a, b]" : ""), {}, "}"};
  Block& body = made.body;
  if (made.head.find(": tensor") == std::string::npos) line(body, "a, b = x.shape");
  line(body, "y = x * 1");
  for (int n = 2 + random_.below(5); n > 0; --n) {
    switch (random_.below(16)) {
      case 0:
        line(body,
             "y = " + pick({"y.t()", "y.reshape(b, a).t()", "y.flatten().view(a, b)", "y.contiguous()"}));
        break;
      case 1:
        line(body, fmt::format("y = y * {} + {}", size_of("x", 1), size_of("x", 0)));
        break;
      case 2:
        line(body, "y = y + " + pick({"arange(b)", "arange(a).unsqueeze(1)", "ones(a, b)",
                                      "full((b,), a * 0.5)", "rand(a, 1)"}));
        break;
      case 3:
        line(body, "y = cat([y, " + pick({"y", "zeros(k, y.size(1))", "x.to(y.dtype)"}) + "])[:a]");
        break;
      case 4:
        line(body, fmt::format("if {} > {} {{ y = y * 2 }}", size_of("x", 1), digit(8)));
        break;
      case 5:
        line(body, fmt::format("y = y - y.{}(dim={}, keepdim=true)", pick({"mean", "sum"}),
                               pick({"0", "1", "-1"})));
        break;
      case 6:
        line(body, "for i in range(" + pick({"a", "b", "k"}) + ") { y = y * 0.5 + i }");
        break;
      case 7:
        line(body, "y[" + pick({"0", "a - 1", "a // 2", ":, b // 2", "1:", "::2"}) +
                       "] += " + pick({"1", "k", "a"}));
        break;
      case 8:
        line(body, fmt::format("print({})", size_of("x", 1)));
        break;
      case 9:
        line(body, "y = (y @ y.t()) @ y * 0.1");
        break;
      case 10:
        line(body, "gks.append(" + size_of("x", 1) + ")");
        break;
      case 11:
        line(body, fmt::format("y = where(y > {}, y, y * 0.5)", pick({"0", "a", "y.mean()"})));
        break;
      case 12:
        line(body, "y = y.softmax(" + pick({"0", "1"}) + ")");
        break;
      case 13:
        line(body, "y = y.expand(2, a, b)." + pick({"sum(0)", "mean(0)", "reshape(2 * a, b)[:a]"}));
        break;
      case 14:
        line(body, "y = y.view(1, -1).view(a, b)");
        break;
      default:
        line(body, "w = y.detach().float().clone().requires_grad_(); (w * w).mean().backward(); y = w.grad");
        break;
    }
  }
  line(body, "return " + pick({"y", "y.sum()", "y, a * b", "y[0], y.shape"}));
  program_.functions.push_back(name);
  program_.statements.push_back(std::move(made));
  sized_.push_back(name);
}

void Writer::sizes() {
  for (int k = 1 + random_.below(2); k > 0; --k) sized_function();
}

void Writer::call_sized() {
  const std::string a = std::to_string(1 + random_.below(6)), b = std::to_string(1 + random_.below(6));
  const std::string x =
      pick({fmt::format("rand({}, {})", a, b), fmt::format("(arange({0}. * {1}).view({0}, {1}) - 3)", a, b),
            fmt::format("rand({}, {}).t()", b, a), fmt::format("arange({0} * {1}).view({0}, {1})", a, b)});
  top(fmt::format("{} = {}({}{})", fresh("r"), random_.pick(sized_), x,
                  random_.chance(20) ? ", " + std::to_string(1 + random_.below(3)) : ""));
}

// ---- Numbers in containers ----

// What functions find at the top level beside all else.
void Writer::numbers() {
  top("gm = {\"step\": 0, \"lr\": 0.5, \"counts\": [0, 1.5, 2], \"in\": {\"k\": 1}}");
  top("struct Meter { sums = [0.0, 0.0]; state = {\"n\": 0, \"best\": -1.0}; count = 0 }");
  top("gu = Meter()");
  top("fn bump(d, by = 1) { d[\"step\"] += by; d[\"lr\"] = d[\"lr\"] * 0.5; return d[\"step\"] }");
  has_numbers_ = true;
}

void Writer::numbers_statement(Block& block) {
  const std::string x = tensor_of({3, 3}).text, i = variable(Kind::Int).text, out = fresh("v");
  declare({out, Kind::Tensor, {3, 3}});
  const std::string made = out + " = ";
  switch (random_.below(20)) {
    case 0:
      line(block, pick({"gm[\"step\"] += 1", "gm[\"step\"] = " + i, "gm[\"lr\"] *= 0.5", "bump(gm)",
                        "bump(gm, 2)"}));
      return line(block, made + x + pick({" * gm[\"lr\"]", " + gm[\"step\"]"}));
    case 1:
      line(block, "gm[\"counts\"][" + pick({"0", "1", "gm[\"step\"] % 3"}) + "] += " + pick({"1", "0.5", i}));
      return line(block, made + x + " * gm[\"counts\"][0] + gm[\"counts\"][1]");
    case 2:
      line(block, pick({"gu.sums[0] += 1.5", "gu.sums[1] = gu.sums[0] * 2", "gu.count += 1"}));
      return line(block, made + x + pick({" + gu.sums[0]", " * gu.count", " - sum(gu.sums)"}));
    case 3:
      line(block, pick({"gu.state[\"n\"] += 1",
                        "gu.state[\"best\"] = max(gu.state[\"best\"], gu.state[\"n\"] * 0.5)"}));
      return line(block, made + x + " * gu.state[\"best\"]");
    case 4:
      return line(block, fmt::format("if gm[\"step\"] > {} {{ {}{} * 2 }} else {{ {}{} - 1 }}", digit(5),
                                     made, x, made, x));
    case 5:
      line(block, pick({"gm[\"counts\"].append(gm[\"step\"])", "gm[\"counts\"].append(gm[\"lr\"])",
                        "gm[\"counts\"] = [0, 1.5, 2]"}));
      return line(block, made + x + " + sum(gm[\"counts\"])");
    case 6:
      line(block, "gm[\"in\"][\"k\"] += 1");
      return line(block, made + x + " ** gm[\"in\"][\"k\"]");
    case 7:
      return line(block, fmt::format("{}{}[gm[\"step\"] % 3] + {}", made, x, x));
    case 8:
      line(block, "kept = [gm[\"step\"], gm[\"lr\"], gu.count]");
      return line(block, made + x + " * kept[1] + kept[0]");
    case 9:
      line(block, "(n8, q8) = gm[\"step\"] + 1, gm[\"lr\"] + 0.25; gm[\"step\"] = n8");
      return line(block, made + x + " * q8");
    case 10:
      line(block, "seen = {\"k\": gm[\"step\"] * 2, \"q\": gm[\"lr\"]}; seen[\"k\"] += 1");
      return line(block, made + x + " * seen[\"q\"] + seen[\"k\"]");
    case 11:
      return line(block, fmt::format("{}full((3, 3), gm[\"lr\"]) + {}", made, x));
    case 12:
      line(block, "for c in gm[\"counts\"] { gu.sums[0] += c }");
      return line(block, made + x + " * 1");
    case 13:
      line(block, fmt::format("gm[\"t\"] = {}", x));
      return line(block, made + "gm[\"t\"] + 1");
    case 15:  // within the tuple of an index
      return line(block,
                  fmt::format("{}{} + {}[{}].sum()", made, x, x,
                              pick({"(gm[\"step\"] % 3):, 0", "0, :(gm[\"step\"] % 3)", "..., :gu.count",
                                    "none, gu.count:, 1", "[gu.count % 3, 0], 1:", "gu.count % 3, 0"})));
    case 16:  // read by what a host function calls
      return line(block, fmt::format("{}{} * {}", made, x,
                                     pick({"sum(list(map(v => v * gm[\"lr\"], [1, 2])))",
                                           "sorted([0, 1, 2], key=v => abs(v - gm[\"step\"]))[0]",
                                           "max(map(v => (v * gu.count, 1), [1, 2]))[0]",
                                           "len(list(filter(v => v > gm[\"step\"], [0, 1, 2, 3])))",
                                           "sorted([0, 1], key=v => [gm[\"lr\"] - v, 0])[0]"})));
    case 17:
      return line(block,
                  fmt::format("if ({}, (0, 1)) == (({}, 0), (0, 1)) {{ {}{} + 3 }} else {{ {}{} * 0.5 }}",
                              "(gm[\"step\"], 0)", digit(4), made, x, made, x));
    case 18:
      line(block, "((n9, q9), z9) = ((gm[\"step\"], gm[\"lr\"]), gu.count)");
      return line(block, made + x + " * q9 + n9 - z9");
    case 14:
      return line(block,
                  fmt::format("{}{} * (gm[\"counts\"][-1] if gm[\"lr\"] < 0.2 else gm[\"lr\"])", made, x));
    default:
      return line(block, fmt::format("{}{} + len(gm[\"counts\"]) * {}", made, x, i));
  }
}

void Writer::change_numbers() {
  top(pick({"gm[\"step\"] = 3", "gm[\"lr\"] = 0.25", "gm[\"lr\"] = 1", "gm[\"counts\"] = [1, 2, 3]",
            "gu = Meter()", "gu.sums = [1.0, 2.0]", "gu.state[\"n\"] = 2.5",
            "gm[\"step\"] = gm[\"step\"] + 0.5", "gm = dict(gm)", "gm[\"in\"] = {\"k\": 2}", "gu.count = 7",
            "gm[\"counts\"][0] = gm[\"counts\"][0] + 1"}));
}

}  // namespace kiln::testing

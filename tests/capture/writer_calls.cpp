// Calls of the functions of a program, with arguments and outside state that change in between.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tests/capture/writer.h"

namespace kiln::testing {

Shape Writer::sized(const Shape& shape, int size) const {
  Shape out = shape;
  for (int& each : out) each = each == 3 ? size : each;
  return out;
}

// In every layout.
std::string Writer::fresh_tensor(const Shape& shape, Element element) {
  if (shape.empty()) return pick({"tensor(1.5)", "tensor(-2.0)", "tensor(3)", "ones(3)[1]", "ones(2).sum()"});
  int n = 1;
  for (const int each : shape) n *= each;
  const std::string of = to_text(shape);
  const std::string begin = pick({"-4", "0", "-1"});
  const auto range = [&](int count) { return fmt::format("(arange({}.) * 0.5 + {})", count, begin); };
  std::string text;
  switch (random_.below(9)) {
    case 0:
      if (shape.size() == 2) {
        text = fmt::format("{}.view{}.t()", range(n), to_text({shape[1], shape[0]}));
        break;
      }
      [[fallthrough]];
    case 1:
      if (!shape.empty()) {
        Shape wide = shape;
        wide.back() *= 2;
        text = fmt::format("{}.view{}[..., ::2]", range(2 * n), to_text(wide));
        break;
      }
      [[fallthrough]];
    case 2:
      text = fmt::format("{}[2:].view{}", range(n + 2), of);
      break;
    case 3:
      if (shape.size() == 2) {
        text = fmt::format("{}.view{}.expand{}", range(shape[0]), to_text({shape[0], 1}), of);
        break;
      }
      [[fallthrough]];
    default:
      text = fmt::format("{}.view{}", range(n), of);
  }
  if (theme_ == Theme::Dtypes && random_.chance(60)) return text + ".to(" + dtype() + ")";
  if (element == Element::Int) return text + ".int()";
  if (element == Element::Bool) return "(" + text + " > 0)";
  switch (random_.below(14)) {
    case 0:
      return text + ".to(f64)";
    case 1:
      return text + ".clone().requires_grad_()";
    case 2:
      return "(" + text + ".clone().requires_grad_() * 2)";
    case 3:
      return text + ".int()";
    case 4:
      return text + ".clone().requires_grad_()" + (shape.size() == 2 ? "[:]" : "");
    default:
      return text;
  }
}

// Tensors of the pool share memory; some arguments are the same tensor, or another view of it.
std::string Writer::argument(const Typed& parameter, int size) {
  switch (parameter.kind) {
    case Kind::Int:
      return digit(4);
    case Kind::Float:
      return pick({"0.5", "2.0", "-1.0", "0.0", "-0.0", "2", "true"});
    case Kind::Bool:
      return pick({"true", "false"});
    case Kind::Text:
      return pick({"\"a\"", "\"b\"", "\"relu\""});
    case Kind::Tensors:
      return pick({"gxs", "gxs", "gys", "gys", "[gt]", "[ones(3, 3), gt, gt]", "[gt, ones(3, 3)]",
                   "[randn(3, 3)]", "[]"});
    case Kind::Ints:
      return pick({"gks", "[1, 2]", "[3, 1, 2, 0]"});
    case Kind::Dict:
      return pick({"gd", "gd", "{\"a\": gt, \"n\": 2}", "{\"n\": 2, \"a\": gt}", "{\"a\": gt, \"n\": 1}",
                   "{\"n\": 3, \"a\": ones(3, 3)}", "{\"a\": ones(3, 3), \"n\": 1, \"new\": 2}"});
    case Kind::Layer:
      return pick({"gs", "gs", "gr", "gr", "Layer(ones(3, 3))", "Layer(gt, gv)",
                   "Layer(ones(3, 3), none, 3, false)"});
    default:
      break;
  }
  const Shape shape = sized(parameter.shape, size);
  if (random_.chance(8))
    return fresh_tensor(random_.pick(std::vector<Shape>{{}, {1}, {2, 2}, {0, 3}}), Element::Float);
  if (shape == Shape{3, 3} && !pool_.empty() && random_.chance(65)) {
    const std::string p = random_.pick(pool_);
    return p + (random_.chance(20) ? pick({".t()", "[:]", ".view(3, 3)", ".detach()"}) : "");
  }
  if (shape == Shape{3} && !pool_.empty() && random_.chance(30))
    return random_.pick(pool_) + pick({"[0]", "[:, 0]", ".diagonal()"});
  return fresh_tensor(shape, parameter.element);
}

void Writer::call(const FunctionInfo& f) {
  const int size = random_.chance(80) ? 3 : pick({"2", "4", "1"})[0] - '0';
  std::vector<std::string> parts;
  bool by_name = false;
  for (const Typed& each : f.parameters) {
    by_name = by_name || random_.chance(5);
    const bool may = each.text.find('(') == std::string::npos && each.text != "x";
    parts.push_back((by_name && may ? each.text + "=" : "") + argument(each, size));
    by_name = by_name && may;
  }
  if (f.takes_rest && !by_name && f.defaults.empty() && random_.chance(60))
    parts.push_back(pick({"1, 2", "*[3]", "gn"}));
  if (!f.defaults.empty() && random_.chance(40)) parts.push_back(f.defaults[0] + "=" + digit(4));
  if (f.takes_named && random_.chance(60)) parts.push_back(pick({"k=1", "k=gt", "**{\"m\": 2}"}));
  std::string text;
  for (const std::string& each : parts) text += (text.empty() ? "" : ", ") + each;
  const std::string result = fresh("r");
  const std::string line = fmt::format("{} = {}({})", result, f.name, text);
  top(random_.chance(12) ? "with no_grad() { " + line + " }" : line);
  if (f.results.size() == 1 && random_.chance(15))
    top(fmt::format("if {0}.requires_grad {{ {0}.sum().backward() }}", result));
}

void Writer::change_outside() {
  if (has_holder_ && random_.chance(30)) return top("gh = holder(" + pick({digit(5), "0.5", "2.5"}) + ")");
  const std::string p = pool_.empty() ? "gt" : random_.pick(pool_);
  switch (random_.below(26)) {
    case 23:
      return top(
          pick({"gt.requires_grad_()", "gs.w = gs.w.detach().clone().requires_grad_()", "gt = gt.clone()"}));
    case 24:
      if (std::none_of(functions_.begin(), functions_.end(),
                       [](const FunctionInfo& f) { return f.name == "counted"; }))
        return;
      return top(pick({"ga, gb = counter(1)", "gb = gf", "ge = ga"}));
    case 0:
      return top("gn = " + digit(5));
    case 1:
      return top("gq = " + pick({"0.5", "1", "3.0", "none"}));
    case 2:
      return top("gt = " + fresh_tensor({3, 3}, Element::Float));
    case 3:
      return top("gxs.append(" + p + ")");
    case 4:
      return top(pick({"gxs = [ones(3, 3)]", "gys = gxs", "gys = [gt]", "gr = gs", "gr = Layer(gt)"}));
    case 5:
      return top("gks.append(1)");
    case 6:
      return top("gks = [2, 1]");
    case 7:
      return top("gd = {\"n\": 1, \"a\": " + p + "}");
    case 8:
      return top("gd[\"new\"] = 1");
    case 9:
      return top("gs = Layer(" + p + ", gv, 2)");
    case 10:
      return top("gs.b = " + pick({"gv", "none", "gt"}));
    case 11:
      return top("gs.w = " + p);
    case 12:
      return top("gs.on = not gs.on");
    case 13:
      return top("gs.extra = 1");
    case 14:
      return top(p + " = " + p + ".detach().clone().requires_grad_()");
    case 15:
      return top(p + pick({" += 1", ".t_()", " = gt", " = " + p + ".t()"}));
    case 16:
      return top("gt = " + p);
    case 17:
      return top("gv = gt[0]");
    case 18:
      return top("seed(" + digit(10) + ")");
    case 19:
      return top("gxs[0] = " + p);
    case 20:
      return top("gxs.reverse()");
    case 21:
      return top("gt.grad = none");
    case 22:
      return top("gv = " + fresh_tensor({3}, Element::Float));
    default:
      if (functions_.empty()) return;
      return top(fmt::format("fn f0({}*q, **k) = {}", "x, ", pick({"x", "x * 2", "x + gt"})));
  }
}

void Writer::calls() {
  const int tensors = 2 + random_.below(3);
  for (int k = 0; k < tensors; ++k) {
    const std::string name = "p" + std::to_string(k);
    const bool shares = !pool_.empty() && random_.chance(35);
    const std::string value =
        shares ? random_.pick(pool_) + pick({"", ".t()", ".view(3, 3)", "[:]", ".detach()"})
               : fresh_tensor({3, 3}, Element::Float);
    top(name + " = " + value);
    pool_.push_back(name);
  }
  const int count = 5 + random_.below(8);
  for (int k = 0; k < count; ++k) {
    if (!sized_.empty() && random_.chance(70)) {
      call_sized();
    } else if (!functions_.empty()) {
      call(random_.chance(60) ? functions_.back() : random_.pick(functions_));
    }
    if (random_.chance(theme_ == Theme::Loops ? 40 : 3)) long_loop(program_.statements, kIterations);
    if (random_.chance(45)) change_outside();
    if (random_.chance(40)) change_theme();
  }
}

}  // namespace kiln::testing

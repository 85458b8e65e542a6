// Expressions that give tensors.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tests/capture/writer.h"

namespace kiln::testing {
namespace {

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (std::size_t k = 0; k < out.size(); ++k) {
    const int x = k < a.size() ? a[a.size() - 1 - k] : 1;
    const int y = k < b.size() ? b[b.size() - 1 - k] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out[out.size() - 1 - k] = x == 1 ? y : x;
  }
  return out;
}

Shape without(Shape shape, int dim) {
  shape.erase(shape.begin() + dim);
  return shape;
}

Shape joined(int first, Shape shape) {
  shape.insert(shape.begin(), first);
  return shape;
}

int numel(const Shape& shape) {
  int n = 1;
  for (const int each : shape) n *= each;
  return n;
}

}  // namespace

std::string to_text(const Shape& shape) {
  std::string text;
  for (const int each : shape) text += (text.empty() ? "" : ", ") + std::to_string(each);
  return shape.size() == 1 ? "(" + text + ",)" : "(" + text + ")";
}

Typed Writer::tensor(int depth) {
  if (depth <= 0 || random_.chance(30)) return tensor_variable();
  switch (random_.below(12)) {
    case 0:
    case 1:
      return unary(depth - 1);
    case 2:
    case 3:
    case 4:
      return binary(depth - 1);
    case 5:
    case 6:
      return view(tensor(depth - 1));
    case 7:
      return reduction(depth - 1);
    case 8:
      return move(depth - 1);
    case 9:
      return indexed(depth - 1);
    case 10:
      return random_.chance(25) ? transformed(depth - 1) : made();
    default: {
      const Typed a = tensor(depth - 1);
      const Typed b = tensor_of(a.shape);
      return {fmt::format("({} if {} else {})", a.text, condition(1), b.text), Kind::Tensor, a.shape,
              a.element};
    }
  }
}

// A tensor of the scope, or one held by a collection or struct of it.
Typed Writer::tensor_variable() {
  std::vector<Typed> all = variables(Kind::Tensor);
  if (random_.chance(25)) {
    for (const Typed& each : variables(Kind::Tensors)) {
      all.push_back({each.text + "[0]", Kind::Tensor, {3, 3}});
      all.push_back({each.text + "[-1]", Kind::Tensor, {3, 3}});
    }
    for (const Typed& each : variables(Kind::Dict))
      all.push_back({each.text + "[\"a\"]", Kind::Tensor, {3, 3}});
    for (const Typed& each : variables(Kind::Layer)) all.push_back({each.text + ".w", Kind::Tensor, {3, 3}});
  }
  if (all.empty()) return made();
  return random_.pick(all);
}

Typed Writer::tensor_of(const Shape& shape) {
  std::vector<Typed> fitting;
  for (const Typed& each : variables(Kind::Tensor)) {
    if (each.shape == shape) fitting.push_back(each);
  }
  if (!fitting.empty() && random_.chance(80)) return random_.pick(fitting);
  return {fmt::format("full({}, {})", to_text(shape), real(1)), Kind::Tensor, shape};
}

Typed Writer::float_tensor(int depth) {
  Typed x = tensor(depth);
  if (x.element != Element::Float) x.text += ".float()";
  x.element = Element::Float;
  return x;
}

Typed Writer::unary(int depth) {
  Typed x = tensor(depth);
  if (x.element == Element::Bool) {
    x.text += ".logical_not()";
  } else if (random_.chance(20)) {
    x.text = "(-" + x.text + ")";
  } else if (random_.chance(theme_ == Theme::Dtypes ? 30 : 2)) {
    x.text += ".to(" + dtype() + ")";
  } else if (random_.chance(4)) {
    x.text = fmt::format("dropout({}, 0.5)", x.text);
  } else if (x.element == Element::Int) {
    x.text += pick({".abs()", ".square()", ".sign()", ".clamp(min=-2, max=5)", ".float()"});
    if (x.text.ends_with(".float()")) x.element = Element::Float;
  } else {
    x.text += pick({".sin()",           ".cos()",        ".abs()",           ".relu()",    ".sigmoid()",
                    ".tanh()",          ".square()",     ".exp()",           ".sqrt()",    ".floor()",
                    ".clamp(min=-1.5)", ".clamp(-1, 2)", ".softmax(dim=-1)", ".cumsum(0)", ".clone()",
                    ".contiguous()",    ".to(f64)",      ".to(f32)",         ".gelu()",    ".detach()",
                    ".int()",           ".flip(0)",      ".isnan()",         ".add(1)"});
    if (x.text.ends_with(".int()")) x.element = Element::Int;
    if (x.text.ends_with(".isnan()")) x.element = Element::Bool;
  }
  return x;
}

Typed Writer::binary(int depth) {
  const Typed a = tensor(depth);
  if (random_.chance(35)) {
    const std::string number = random_.chance(50) ? integer(1) : real(1);
    const std::string op = pick({"+", "-", "*", "/", "%", "//", "<", ">=", "=="});
    const bool compares = op == "<" || op == ">=" || op == "==";
    const bool swapped = random_.chance(20);
    return {fmt::format("({} {} {})", swapped ? number : a.text, op, swapped ? a.text : number), Kind::Tensor,
            a.shape, compares ? Element::Bool : Element::Float};
  }
  for (int tries = 0; tries < 4; ++tries) {
    const Typed b = tensor(depth);
    const auto shape = broadcast(a.shape, b.shape);
    if (!shape) continue;
    if (random_.chance(15))
      return {fmt::format("where({} > 0, {}, {})", a.text, a.text, b.text), Kind::Tensor, *shape, a.element};
    if (random_.chance(15) && a.shape.size() == 2 && b.shape.size() == 2 && a.shape[1] == b.shape[0])
      return {fmt::format("({} @ {})", a.text, b.text), Kind::Tensor, {a.shape[0], b.shape[1]}, a.element};
    const std::string op = pick({"+", "-", "*", "/", "+", "*", "<", "=="});
    const bool compares = op == "<" || op == "==";
    return {fmt::format("({} {} {})", a.text, op, b.text), Kind::Tensor, *shape,
            compares    ? Element::Bool
            : op == "/" ? Element::Float
                        : a.element};
  }
  return a;
}

Typed Writer::view(const Typed& x) {
  Typed out = x;
  const int rank = static_cast<int>(x.shape.size());
  if (rank == 0) {
    out.text += ".unsqueeze(0)";
    out.shape = {1};
    return out;
  }
  if (random_.chance(40)) {
    bool is_view = true;
    Shape shape;
    const std::string index = index_of(x.shape, shape, is_view);
    out.text += "[" + index + "]";
    out.shape = shape;
    return out;
  }
  const int d = random_.below(rank);
  switch (random_.below(11)) {
    case 0:
      out.text += rank == 2 ? ".t()" : fmt::format(".transpose(0, {})", d);
      std::swap(out.shape[0], out.shape[static_cast<std::size_t>(rank == 2 ? 1 : d)]);
      return out;
    case 1:
      out.text += pick({".reshape(-1)", ".flatten()", ".view(-1)"});
      out.shape = {numel(x.shape)};
      return out;
    case 2:
      out.text += fmt::format(".unsqueeze({})", d);
      out.shape.insert(out.shape.begin() + d, 1);
      return out;
    case 3:
      out.text += fmt::format(".select({}, {})", d, pick({"0", "-1"}));
      out.shape = without(x.shape, d);
      return out;
    case 4:
      if (rank != 2) break;
      out.text += ".diagonal()";
      out.shape = {std::min(x.shape[0], x.shape[1])};
      return out;
    case 5:
      if (x.shape[static_cast<std::size_t>(d)] < 2) break;
      out.text += fmt::format(".narrow({}, 1, {})", d, x.shape[static_cast<std::size_t>(d)] - 1);
      out.shape[static_cast<std::size_t>(d)] -= 1;
      return out;
    case 6:
      out.text += ".expand" + to_text(joined(2, x.shape));
      out.shape.insert(out.shape.begin(), 2);
      return out;
    case 7:
      out.text += fmt::format(".unbind({})[0]", d);
      out.shape = without(x.shape, d);
      return out;
    case 8:
      if (x.shape[static_cast<std::size_t>(d)] < 2) break;
      out.text += fmt::format(".split(1, dim={})[1]", d);
      out.shape[static_cast<std::size_t>(d)] = 1;
      return out;
    case 9:
      out.text += ".squeeze()";
      std::erase(out.shape, 1);
      return out;
    default:
      break;
  }
  out.text += ".detach()";
  return out;
}

// An index with slices, numbers, `none` and `...`; or one that picks elements.
std::string Writer::index_of(const Shape& shape, Shape& result, bool& is_view) {
  is_view = true;
  const int n = shape.empty() ? 1 : shape[0];
  result = shape;
  switch (random_.below(9)) {
    case 0:
      if (n < 2) break;
      result[0] = n - 1;
      return "1:";
    case 1:
      result[0] = (n + 1) / 2;
      return "::2";
    case 2:
      if (n < 1) break;
      result.erase(result.begin());
      return random_.chance(30) ? integer(0) + " % " + std::to_string(n) : pick({"0", "-1"});
    case 3:
      if (shape.size() < 2 || shape[1] < 2) break;
      result[1] = shape[1] - 1;
      return ":, 1:";
    case 4:
      if (shape.size() < 2 || shape[1] < 1) break;
      result.erase(result.begin() + 1);
      return ":, 0";
    case 5:
      result.insert(result.begin(), 1);
      return "none";
    case 6:
      if (shape.back() < 1) break;
      result.pop_back();
      return "..., -1";
    case 7:
      if (n < 2) break;
      is_view = false;
      result[0] = 2;
      return pick({"[0, 1]", "[1, 0]", "tensor([0, 1])"});
    default:
      break;
  }
  return "...";
}

Typed Writer::reduction(int depth) {
  Typed x = float_tensor(depth);
  const std::string op = pick({"sum", "mean", "amax", "prod", "std", "logsumexp"});
  if (x.shape.empty() || (random_.chance(40) && op != "logsumexp" && op != "amax"))
    return {x.text + "." + (x.shape.empty() ? "sum" : op) + "()", Kind::Tensor, {}};
  const int d = random_.below(static_cast<int>(x.shape.size()));
  const bool keep = random_.chance(40);
  x.text += fmt::format(".{}(dim={}{})", op, d, keep ? ", keepdim=true" : "");
  if (keep) {
    x.shape[static_cast<std::size_t>(d)] = 1;
  } else {
    x.shape = without(x.shape, d);
  }
  return x;
}

Typed Writer::move(int depth) {
  const Typed a = tensor(depth);
  if (a.shape.empty()) return a;
  const Typed b = tensor_of(a.shape);
  Typed out = a;
  switch (random_.below(8)) {
    case 3:
      out.text = fmt::format("{}.gather(0, {}.argsort(dim=0))", a.text, b.text);
      return out;
    case 4:
      out.text = fmt::format("pad({}, [1, 2], value={})", a.text, pick({"0", "1"}));
      out.shape.back() += 3;
      return out;
    case 5:  // which now and then is too much
      out.text = fmt::format("{}.index_select(0, tensor([0, {}, 0]))", a.text, pick({"0", "1"}));
      out.shape[0] = 3;
      return out;
    case 6:
      if (a.shape.size() != 2) break;
      out.text = fmt::format("embedding(tensor([[0], [0]]), {})", a.text);
      out.shape = {2, 1, a.shape[1]};
      return out;
    case 0:
      out.text = fmt::format("cat([{}, {}])", a.text, b.text);
      out.shape[0] *= 2;
      return out;
    case 1:
      out.text = fmt::format("stack([{}, {}])", a.text, b.text);
      out.shape.insert(out.shape.begin(), 2);
      return out;
    case 2:
      out.text = fmt::format("{}.roll(1, 0)", a.text);
      return out;
    default:
      break;
  }
  out.text = fmt::format("{}.repeat_interleave(2, dim=0)", a.text);
  out.shape[0] *= 2;
  return out;
}

Typed Writer::indexed(int depth) {
  Typed x = tensor(depth);
  if (x.shape.empty()) return x;
  if (random_.chance(15))
    return {fmt::format("{}.argsort(dim=0)", x.text), Kind::Tensor, x.shape, Element::Int};
  if (random_.chance(15)) return {fmt::format("{0}[{0} > 0].sum()", x.text), Kind::Tensor, {}, x.element};
  bool is_view = true;
  Shape shape;
  const std::string index = index_of(x.shape, shape, is_view);
  return {x.text + "[" + index + "]", Kind::Tensor, shape, x.element};
}

Typed Writer::made() {
  switch (random_.below(9)) {
    case 7:
      return {"randperm(3)", Kind::Tensor, {3}, Element::Int};
    case 8:
      return {pick({"randint(0, 5, (3, 3))", "rand(3, 3).bernoulli()", "zeros(3, 3).normal_(0.5, 2)"}),
              Kind::Tensor,
              {3, 3}};
    case 0:
      return {"ones(3, 3)", Kind::Tensor, {3, 3}};
    case 1:
      return {fmt::format("full((3,), {})", real(1)), Kind::Tensor, {3}};
    case 2:
      return {fmt::format("tensor([1.0, {}, 3.0])", real(1)), Kind::Tensor, {3}};
    case 3:
      return {"rand(3, 3)", Kind::Tensor, {3, 3}};
    case 4:
      return {"randn(3)", Kind::Tensor, {3}};
    case 5:
      return {fmt::format("tensor({})", random_.chance(50) ? integer(1) : real(1)), Kind::Tensor, {}};
    default:
      return {"arange(3)", Kind::Tensor, {3}, Element::Int};
  }
}

// A function of the moment, which may read what is around it.
Typed Writer::transformed(int depth) {
  const Typed x = float_tensor(std::min(depth, 1));
  const std::string v = fresh("t");
  const std::string number = real(0);
  const std::string scalar = fmt::format("{0} => ({0} * {0}.sin() + {1}).sum()", v, number);
  const std::string whole = fmt::format("{0} => {0}.square() * {1}", v, number);
  switch (random_.below(6)) {
    case 0:
      return {fmt::format("grad({})({})", scalar, x.text), Kind::Tensor, x.shape};
    case 1:
      if (x.shape.empty()) break;
      return {fmt::format("vmap({})({})", whole, x.text), Kind::Tensor, x.shape};
    case 2:
      return {fmt::format("jvp({}, ({},), (ones_like({}),))[1]", whole, x.text, x.text), Kind::Tensor,
              x.shape};
    case 3:
      return {fmt::format("vjp({}, {})[1](ones_like({}))[0]", whole, x.text, x.text), Kind::Tensor, x.shape};
    case 4:
      if (x.shape.empty()) break;
      return {fmt::format("vmap(grad({}))({})", scalar, x.text), Kind::Tensor, x.shape};
    default:
      break;
  }
  return {fmt::format("grad({} => grad({})({}).sum())({})", v, scalar, v, x.text), Kind::Tensor, x.shape};
}

}  // namespace kiln::testing

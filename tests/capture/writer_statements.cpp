// Statements without others inside.
#include <utility>

#include <fmt/format.h>

#include "tests/capture/writer.h"

namespace kiln::testing {

void Writer::tensor_statement(Block& block) {
  Typed x = tensor(3);
  std::vector<Typed> known = variables(Kind::Tensor);
  std::erase_if(known, [](const Typed& each) { return each.text[0] == 'g'; });  // would become local
  const bool again = !known.empty() && !in_long_loop_ && random_.chance(25);
  const std::string name = again ? random_.pick(known).text : fresh("v");
  block.push_back({name + " = " + x.text, {}, ""});
  x.text = name;
  if (again) std::erase_if(scope_, [&](const Typed& each) { return each.text == name; });
  declare(std::move(x));
}

// Writes into a tensor, whole or through a view of it.
void Writer::write_statement(Block& block) {
  Typed target = tensor_variable();
  if (target.text.find('(') != std::string::npos) return tensor_statement(block);
  const std::string whole = target.text;
  Shape shape = target.shape;
  bool is_view = true;
  const std::string index = shape.empty() ? "..." : index_of(target.shape, shape, is_view);
  const std::string value = random_.chance(50)   ? tensor_of(shape).text
                            : random_.chance(50) ? integer(1)
                                                 : real(1);
  const auto add = [&](std::string line) { block.push_back({std::move(line), {}, ""}); };
  switch (random_.below(14)) {
    case 0:
      return add(fmt::format("{}[{}] = {}", whole, index, value));
    case 1:
      return add(fmt::format("{}[{}] {} {}", whole, index, pick({"+=", "*=", "-="}), value));
    case 2:
      return add(fmt::format("{0}[{0} {1} {2}] {3} {4}", whole, pick({">", "<"}), real(0),
                             pick({"=", "*=", "+="}), pick({"0", "1.5", "2"})));
    case 3:
      return add(fmt::format("{} {} {}", whole, pick({"+=", "*=", "-=", "/="}),
                             random_.chance(50) ? tensor_of(target.shape).text : real(1)));
    case 4:
      return add(fmt::format("{}.{}({})", whole, pick({"add_", "mul_", "sub_", "copy_"}),
                             tensor_of(target.shape).text));
    case 5:
      return add(whole + pick({".zero_()", ".neg_()", ".relu_()", ".fill_(2)", ".clamp_(-1, 1)", ".exp_()"}));
    case 6: {
      const Typed v = view(target);
      return add(fmt::format("{}.{}", v.text, pick({"add_(1)", "mul_(2)", "zero_()", "fill_(0.5)"})));
    }
    case 7:
      if (target.shape.size() != 2 || target.shape[0] != target.shape[1]) break;
      return add(whole + pick({".t_()", ".transpose_(0, 1)"}));
    case 8:
      return add(fmt::format("{}.masked_fill_({} > 0, {})", whole, whole, real(0)));
    case 9: {
      Typed v = view(target);
      const std::string name = fresh("v");
      add(name + " = " + v.text);
      add(fmt::format("{} {} {}", name, pick({"+=", "*="}), real(1)));
      v.text = name;
      declare(v);
      return;
    }
    case 10:
      return add(fmt::format("{}.{}", whole, pick({"unsqueeze_(0)", "squeeze_()"})));
    case 11:
      if (target.shape.empty()) break;
      return add(fmt::format("{}.index_add_(0, tensor([0]), {}[0:1])", whole, whole));
    case 12:
      return add(fmt::format("{}.detach().{}", whole, pick({"uniform_()", "normal_()", "bernoulli_(0.5)"})));
    default:
      break;
  }
  add(fmt::format("{}.add_({})", whole, value));
}

void Writer::collection_statement(Block& block) {
  const auto add = [&](std::string line) { block.push_back({std::move(line), {}, ""}); };
  const std::string xs = variable(Kind::Tensors).text, ks = variable(Kind::Ints).text;
  const std::string d = variable(Kind::Dict).text;
  const auto square = [&] { return tensor_of({3, 3}).text; };
  switch (random_.below(19)) {
    case 0:
    case 1:
      return add(fmt::format("{}.append({})", xs, square()));
    case 2:
      return add(fmt::format("{}[{}] = {}", xs, pick({"0", "-1"}), square()));
    case 3:
      return add(fmt::format("{}.{}", xs, pick({"pop()", "pop(0)", "reverse()", "insert(0, ones(3, 3))"})));
    case 4:
      return add(fmt::format("{}.{}", ks,
                             pick({"append(3)", "pop()", "reverse()", "sort()", "insert(1, 7)", "clear()",
                                   "extend([1, 2])", "remove(1)"})));
    case 5:
      return add(fmt::format("{}[{}] = {}", ks, pick({"0", "-1"}), integer(1)));
    case 6:
      return add(fmt::format("{}[\"{}\"] = {}", d, pick({"n", "new", "k"}), integer(1)));
    case 7:
      return add(fmt::format("{}[\"a\"] = {}", d, square()));
    case 8:
      return add(fmt::format("{}.{}", d,
                             pick({"pop(\"new\", none)", "update({\"k\": 1})", "setdefault(\"new\", 5)"})));
    case 9:
      return add(fmt::format("{} += [{}]", xs, square()));
    case 10: {
      const std::string name = fresh("xs");
      const std::string t = fresh("t");
      add(fmt::format("{} = [{} * {} for {} in {}{}]", name, t, real(1), t, xs,
                      random_.chance(30) ? fmt::format(" if {}.ndim > 0", t) : ""));
      declare({name, Kind::Tensors});
      return;
    }
    case 11: {
      const std::string name = fresh("ks");
      add(fmt::format(
          "{} = {}", name,
          pick({fmt::format("sorted({})", ks), fmt::format("[k * 2 for k in {}]", ks),
                fmt::format("list(map(k => k + 1, {}))", ks), fmt::format("{}[1:]", ks),
                fmt::format("list(reversed({}))", ks), fmt::format("[k for k in {} if k > 1]", ks),
                fmt::format("list(range({}))", "3"), fmt::format("{}.copy()", ks),
                fmt::format("list(filter(k => k > 1, {}))", ks), ks})));
      declare({name, Kind::Ints});
      return;
    }
    case 12: {
      const std::string name = fresh("d");
      add(fmt::format("{} = {{\"a\": {}, \"n\": {}}}", name, square(), integer(1)));
      declare({name, Kind::Dict});
      return;
    }
    case 13: {
      const std::string a = fresh("v"), b = fresh("v");
      add(fmt::format("{}, {} = {}, {}", a, b, square(), square()));
      declare({a, Kind::Tensor, {3, 3}});
      declare({b, Kind::Tensor, {3, 3}});
      return;
    }
    case 14: {
      const std::string a = fresh("v"), b = fresh("xs");
      add(fmt::format("({}, *{}) = {}", a, b, xs));
      declare({a, Kind::Tensor, {3, 3}});
      declare({b, Kind::Tensors});
      return;
    }
    case 15: {
      const std::string name = fresh("v");
      add(fmt::format("{} = sum({})", name, xs));
      declare({name, Kind::Tensor, {3, 3}});
      return;
    }
    case 16: {
      const std::string name = fresh("v");
      add(fmt::format("{} = {}({})", name, pick({"stack", "cat"}), xs));
      return;
    }
    case 17:
      return add(fmt::format("{}[0].add_({})", xs, real(1)));
    default: {
      const std::string name = fresh("xs");
      add(fmt::format("{} = [{}, {}]", name, square(), square()));
      declare({name, Kind::Tensors});
      return;
    }
  }
}

void Writer::layer_statement(Block& block) {
  const std::string s = variable(Kind::Layer).text;
  const auto add = [&](std::string line) { block.push_back({std::move(line), {}, ""}); };
  switch (random_.below(10)) {
    case 0:
      return add(fmt::format("{}.n += 1", s));
    case 1:
      return add(fmt::format("{}.w = {}", s, tensor_of({3, 3}).text));
    case 2:
      return add(fmt::format("{}.w.mul_({})", s, real(1)));
    case 3:
      return add(fmt::format("{}.b = {}", s, pick({"none", "ones(3)", "randn(3)"})));
    case 4:
      return add(fmt::format("{}.log.append({})", s, integer(1)));
    case 5:
      return add(fmt::format("{}.extra = {}", s, integer(1)));
    case 6:
      return add(fmt::format("{}.on = not {}.on", s, s));
    case 7:
      return add(fmt::format("{}.step({})", s, tensor_of({3, 3}).text));
    default: {
      const std::string name = fresh("v");
      add(fmt::format("{} = {}({})", name, random_.chance(70) ? s : s + ".run", tensor_of({3, 3}).text));
      declare({name, Kind::Tensor, {3, 3}});
      return;
    }
  }
}

void Writer::host_statement(Block& block) {
  const auto add = [&](std::string line) { block.push_back({std::move(line), {}, ""}); };
  const std::vector<Typed> known = variables(Kind::Int);
  if (random_.chance(30) && !known.empty()) {
    const std::string name = random_.pick(known).text;
    if (name.find('g') != 0 && name.find(kCounter) != 0)
      return add(fmt::format("{} {} {}", name, pick({"+=", "-=", "*="}), pick({"1", "2"})));
  }
  switch (random_.below(6)) {
    case 0:
      add(fmt::format("{} = {}", fresh("s"), text_value()));
      return;
    case 1: {
      const std::string name = fresh("c");
      add(fmt::format("{} = {}", name, condition(1)));
      declare({name, Kind::Bool});
      return;
    }
    case 2: {
      const std::string name = fresh("q");
      add(fmt::format("{} = {}", name, real(2)));
      declare({name, Kind::Float});
      return;
    }
    case 3:
      return add(fmt::format("print({})", host(1)));
    case 4:
      return add(fmt::format("print({}, {}{})", host(1), host(0), random_.chance(20) ? ", sep=\"-\"" : ""));
    default: {
      const std::string name = fresh("n");
      add(fmt::format("{} = {}", name, integer(2)));
      declare({name, Kind::Int});
      return;
    }
  }
}

// What a graph cannot hold.
void Writer::break_statement(Block& block) {
  const auto add = [&](std::string line) { block.push_back({std::move(line), {}, ""}); };
  const std::string x = tensor_variable().text;
  switch (random_.below(6)) {
    case 0:
      return add(fmt::format("print({})", x));
    case 1: {
      const std::string name = fresh("q");
      add(fmt::format("{} = {}.sum().item()", name, x));
      declare({name, Kind::Float});
      return;
    }
    case 2: {
      const std::string name = fresh("n");
      add(fmt::format("{} = int({}.isnan().sum())", name, x));
      declare({name, Kind::Int});
      return;
    }
    case 3:
      return add(fmt::format("print(f\"{{{}.shape}} {{{}.sum()}}\")", x, x));
    case 4: {
      const std::string name = fresh("v");
      add(fmt::format("{} = {}.nonzero()", name, x));
      return;
    }
    default:
      return add(fmt::format("print({}.tolist(), {})", x, integer(1)));
  }
}

void Writer::closure_statement(Block& block) {
  const std::string name = fresh("h"), v = fresh("p");
  const Typed around = tensor_of({3, 3});
  const auto add = [&](std::string line) { block.push_back({std::move(line), {}, ""}); };
  if (random_.chance(50)) {
    add(fmt::format("{} = {} => {} * {} + {}", name, v, v, around.text, real(1)));
  } else {
    const std::string n = variable(Kind::Int).text;
    Statement inner{fmt::format("fn {}({}, k = {}) {{", name, v, integer(1)), {}, "}"};
    const bool changes = in_function_ && n.find('n') == 0;
    if (changes) inner.body.push_back({"nonlocal " + n, {}, ""});
    if (changes) inner.body.push_back({n + " += k", {}, ""});
    inner.body.push_back({fmt::format("return {} * k + {}", v, around.text), {}, ""});
    block.push_back(std::move(inner));
  }
  const std::string out = fresh("v");
  add(fmt::format("{} = {}({})", out, name, tensor_of({3, 3}).text));
  declare({out, Kind::Tensor, {3, 3}});
}

void Writer::gradient_statement(Block& block) {
  const auto add = [&](std::string line) { block.push_back({std::move(line), {}, ""}); };
  const Typed x = tensor_variable();
  switch (random_.below(5)) {
    case 0:
      return add(fmt::format("if {0}.requires_grad {{ ({0} * 2.0).sum().backward() }}", x.text));
    case 1: {
      const std::string leaf = fresh("v");
      add(fmt::format("{} = {}.detach().float().clone().requires_grad_()", leaf, x.text));
      add(fmt::format("({} * {}).sum().backward()", leaf, real(1)));
      declare({leaf, Kind::Tensor, x.shape});
      return;
    }
    case 2: {
      const std::string out = fresh("v");
      add(fmt::format("{} = {}.grad", out, x.text));
      return;
    }
    case 3: {
      const std::string leaf = fresh("v"), out = fresh("v");
      add(fmt::format("{} = {}.detach().float().clone().requires_grad_()", leaf, x.text));
      add(fmt::format("{} = grads(({} * {}.sin()).sum(), [{}])[0]", out, leaf, leaf, leaf));
      declare({out, Kind::Tensor, x.shape});
      return;
    }
    default:
      return add(fmt::format("({} * gs.w.float()).sum().backward()", float_tensor(2).text));
  }
}

void Writer::call_statement(Block& block) {
  if (functions_.empty()) return tensor_statement(block);
  const FunctionInfo& f = random_.pick(functions_);
  if (f.is_long && loops_ > 0) return tensor_statement(block);
  const std::string call = fmt::format("{}({})", f.name, arguments_within(f));
  if (f.results.empty() || random_.chance(10)) {
    block.push_back({call, {}, ""});
    return;
  }
  std::string left;
  std::vector<Typed> made;
  for (const Typed& each : f.results) {
    made.push_back(each);
    made.back().text = fresh("v");
    left += (left.empty() ? "" : ", ") + made.back().text;
  }
  block.push_back({left + " = " + call, {}, ""});
  for (Typed& each : made) declare(std::move(each));
}

}  // namespace kiln::testing

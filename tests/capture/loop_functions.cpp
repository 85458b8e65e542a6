// Programs of loops: the functions, and calls with arguments of all sizes.
#include <utility>

#include <fmt/format.h>

#include "tests/capture/loop_writer.h"

namespace kiln::testing {

void LoopWriter::write() {
  is_reckless_ = random_.chance(for_gradients_ ? 5 : 35);
  world();
  for (int k = 1 + random_.below(2); k > 0; --k) function();
  calls();
  if (!for_gradients_ && random_.chance(40)) top_loop();
  if (!for_gradients_ && random_.chance(20)) batched();
}

void LoopWriter::function() {
  is_integer_ = !for_gradients_ && random_.chance(30);
  is_plain_ = random_.chance(for_gradients_ ? 20 : 40);
  Callable f{fresh("f"), {{"a", Kind::Matrix, "n", "m"}, {"v", Kind::Vector, "n"}}, is_integer_};
  const std::vector<Local> others{{"b", Kind::Matrix, "n", "m"},
                                  {"c", Kind::Matrix, "n", "n"},
                                  {"w", Kind::Vector, "m"},
                                  {"mask", Kind::Mask, "n"},
                                  {"ks", Kind::Ints},
                                  {"xs", Kind::Vectors, "m"},
                                  {"q", is_integer_ ? Kind::Int : Kind::Float}};
  for (const Local& each : others) {
    if (random_.chance(50)) f.parameters.push_back(each);
  }
  std::string names;
  for (const Local& each : f.parameters) names += (names.empty() ? "" : ", ") + each.text;
  Statement made{fmt::format("fn {}({}) {{", f.name, names), {}, "}"};
  scope_ = f.parameters;
  leaves_.clear();
  in_function_ = true;
  line(made.body, "(n, m) = a.shape");
  parameters_ = names;
  if (!is_integer_ && random_.chance(for_gradients_ ? 100 : 25)) record_gradients(made.body, f.parameters);
  begin_locals(made.body);
  for (int k = random_.chance(30) ? 2 : 1; k > 0; --k) {
    if (random_.chance(30)) statement(made.body, 0);
    random_.chance(15) ? attempt(made.body, 2) : loop(made.body, 2);
  }
  if (random_.chance(60)) textbook(made.body);
  end_function(made.body);
  in_function_ = false;
  closures_.clear();
  program_.functions.push_back(f.name);
  program_.statements.push_back(std::move(made));
  functions_.push_back(std::move(f));
}

// The parameters become what is computed of leaves, so that loops may write into them.
void LoopWriter::record_gradients(Block& block, const std::vector<Local>& parameters) {
  form("gradients through loops");
  for (const Local& each : parameters) {
    if (each.kind != Kind::Matrix && each.kind != Kind::Vector) continue;
    leaves_.push_back("leaf_" + each.text);
    line(block, fmt::format("leaf_{0} = {0}.detach().clone().requires_grad_()", each.text));
    line(block, fmt::format("{0} = leaf_{0} * 1.5", each.text));
    if (random_.chance(30)) declare("leaf_" + each.text, each.kind, each.rows, each.columns);
  }
}

void LoopWriter::begin_locals(Block& block) {
  line(block, "k = 0; h = 1; flag = false; cell = [0, 1]; z = v[:1] * 2");
  line(block, "pair = Pair(k, h); other = pair");
  line(block, is_integer_ ? "s = 0" : "s = 0.25");
  line(block, fmt::format("x = v * {}; y = {}_like(v)", literal(), pick({"zeros", "ones"})));
  line(block,
       fmt::format("acc = {}", pick({"v.sum()", "v.sum() * 0", is_integer_ ? "tensor(0)" : "tensor(0.5)"})));
  declare("k", Kind::Int);
  declare("h", Kind::Int);
  declare("s", is_integer_ ? Kind::Int : Kind::Float);
  declare("flag", Kind::Bool);
  declare("x", Kind::Vector, "n");
  declare("y", Kind::Vector, "n");
  declare("acc", Kind::Element);
  if (random_.chance(25)) {
    line(block, "twin = a.clone()");
    declare("twin", Kind::Matrix, "n", "m");
  }
  if (!random_.chance(30)) return;
  const std::string name = fresh("c");
  line(block, fmt::format("fn {}(d) {{ {}; return {} }}", name,
                          pick({"nonlocal k; k += d", "nonlocal s; s = s * 0.5 + d", "x[:1] += d",
                                "book[\"t\"] = d"}),
                          pick({"d", "k", "v[0] + d", "h * d"})));
  closures_.push_back(name);
}

void LoopWriter::end_function(Block& block) {
  if (!leaves_.empty()) return end_with_gradients(block);
  line(block, "print(k, h, s, flag, len(z), pair, other, pair is other)");
  line(block,
       "return " + pick({"a, v, x, y, acc", "acc, s, k, z", "(a, x, cell, flag)", "x, y, z, k, h, s"}));
}

void LoopWriter::end_with_gradients(Block& block) {
  std::string all;
  for (const std::string& each : leaves_) all += (all.empty() ? "" : ", ") + each;
  std::vector<std::string> losses{"(a * a).sum() + v.sum()", "a.sum() + x.sum() + acc",
                                  "(v * x).sum() + acc * 2", "a.square().mean() + y.sum() + s"};
  if (for_gradients_) {
    losses.insert(losses.end(),
                  {"x.sum()", "acc * 1.0", "(x * y).sum()", "(y * leaf_v).sum() + (x * v).sum()",
                   "(a * leaf_a).sum() + acc * acc", "(x * x).sum() + (a * a).sum() * 0.5"});
  }
  line(block, "loss = " + pick(losses));
  if (random_.chance(35)) return end_with_transform(block);
  if (random_.chance(50)) {
    line(block, "loss.backward()");
    line(block, fmt::format("return loss.detach(), [t.grad for t in [{}]]", all));
  } else {
    line(block, fmt::format("return loss.detach(), grads(loss, [{}], allow_unused=true)", all));
  }
}

// What is recorded becomes a function that a transform differentiates by what were leaves.
void LoopWriter::end_with_transform(Block& block) {
  form("loops within a transform");
  Statement inside{"", {}, "}"};
  std::string leaves, values, numbers;
  for (std::size_t k = 0; k < leaves_.size(); ++k) {
    const std::string of = leaves_[k].substr(leaves_[k].find('_') + 1);
    leaves += leaves_[k] + ", ";
    values += of + ".detach().clone(), ";
    numbers += fmt::format("{}, ", k);
  }
  inside.head = fmt::format("fn inside({}{}) {{", leaves, parameters_);
  for (std::size_t k = 1; k < block.size(); ++k)
    if (!block[k].head.starts_with("leaf_")) inside.body.push_back(std::move(block[k]));
  line(inside.body, "return loss");
  block.resize(1);
  block.push_back(std::move(inside));
  const std::string call = fmt::format("({}{})", values, parameters_);
  if (random_.chance(60)) {
    line(block, fmt::format("return value_and_grad(inside, argnums=({})){}", numbers, call));
  } else {
    const std::string names = leaves.substr(0, leaves.size() - 2), arguments = leaves + parameters_;
    line(block, fmt::format("(loss, back) = vjp(({}) => inside({}), {})", names, arguments,
                            values.substr(0, values.size() - 2)));
    line(block, "return loss, back(ones_like(loss)), back(ones_like(loss) * 2)");
  }
}

// ---- Calls ----

std::string LoopWriter::tensor_argument(const Local& parameter, int n, int m, bool is_integer) {
  const bool is_matrix = parameter.kind == Kind::Matrix;
  const int rows = parameter.rows == "n" ? n : m, columns = parameter.columns == "n" ? n : m;
  if (parameter.kind == Kind::Mask) return fmt::format("zeros({}, dtype=bool)", rows);
  const char* const of = is_integer ? "letters" : "noise";
  std::string text;
  switch (random_.below(8)) {
    case 0:
      form("argument that is transposed");
      text = is_matrix ? fmt::format("{}({}, {}).t()", of, columns, rows)
                       : fmt::format("{}({}, 3)[:, 1]", of, rows);
      break;
    case 1:
      form("argument with steps");
      text = is_matrix ? fmt::format("{}({}, {})[::2]", of, 2 * rows, columns)
                       : fmt::format("{}(2, {})[1, ::2]", of, 2 * rows);
      break;
    case 2:
      form("argument that is a part");
      text = is_matrix ? fmt::format("{}({}, {})[1:, :-1]", of, rows + 1, columns + 1)
                       : fmt::format("{}(1, {})[0, 2:]", of, rows + 2);
      break;
    default:
      text = is_matrix ? fmt::format("{}({}, {})", of, rows, columns) : fmt::format("{}(1, {})[0]", of, rows);
  }
  return text + (random_.chance(95) ? dtype_ : dtype_of_call(is_integer));
}

std::string LoopWriter::dtype_of_call(bool is_integer) {
  if (!random_.chance(50)) return "";
  const std::string dtype =
      is_integer ? pick({"i32", "u8", "i16", "i8", "i64"}) : pick({"f64", "f64", "f16", "bf16"});
  form("argument of " + dtype);
  return ".to(" + dtype + ")";
}

std::string LoopWriter::argument(const Local& parameter, int n, int m, bool is_integer) {
  switch (parameter.kind) {
    case Kind::Ints:
      return pick({"[3, 1, 2]", "[1, 2, 3, 4, 5]", "counts", "[7]"});
    case Kind::Vectors:
      return fmt::format("list({}({}, {}).unbind(0))", is_integer ? "letters" : "noise", 2 + random_.below(2),
                         m);
    case Kind::Float:
      return pick({"0.5", "-1.25", "2", "0.1"});
    case Kind::Int:
      return digit(5);
    default:
      return tensor_argument(parameter, n, m, is_integer);
  }
}

// Some sizes again and again, so that compiled code meets its second call, then others.
void LoopWriter::calls() {
  top("counts = [2, 7, 1]");
  for (const Callable& f : functions_) {
    const std::vector<std::pair<int, int>> sizes{{4, 5}, {5, 4}, {3, 3}, {6, 6}, {7, 3}, {9, 2}, {17, 3}};
    const std::vector<std::pair<int, int>> corners{{1, 1}, {2, 2},  {0, 3},  {3, 0},
                                                   {1, 4}, {12, 5}, {3, 34}, {40, 3}};
    const auto [n, m] = random_.pick(sizes);
    for (int k = 2 + random_.below(2); k > 0; --k) call_of(f, n, m);
    for (int k = random_.below(3); k > 0; --k) {
      const auto [rows, columns] = random_.chance(40) ? random_.pick(sizes) : random_.pick(corners);
      form(fmt::format("call with sizes {} and {}", rows, columns));
      call_of(f, rows, columns);
    }
    if (random_.chance(30)) call_of(f, n, m);
  }
}

void LoopWriter::call_of(const Callable& f, int n, int m) {
  const std::string kept = fresh("t"), row = fresh("t");
  std::string arguments;
  const bool shares = random_.chance(15);
  dtype_ = dtype_of_call(f.is_integer);
  if (shares) {
    form("arguments that share memory");
    const char* const of = f.is_integer ? "letters" : "noise";
    top(fmt::format("{} = {}({}, {}){}", kept, of, n + 1, m, dtype_));
  } else {
    top(fmt::format("{} = {}", kept, tensor_argument(f.parameters[0], n, m, f.is_integer)));
    top(fmt::format("{} = {}", row, tensor_argument(f.parameters[1], n, m, f.is_integer)));
  }
  for (const Local& each : f.parameters) {
    std::string given;
    if (each.text == "a")
      given = shares ? kept + "[1:]" : kept;
    else if (each.text == "v")
      given = shares ? kept + pick({"[1:, 0]", "[:-1, -1]"}) : row;
    else if (shares && each.text == "b")
      given = kept + pick({"[:-1]", "[1:]"});
    else
      given = argument(each, n, m, f.is_integer);
    arguments += (arguments.empty() ? "" : ", ") + given;
  }
  top(fmt::format("{} = {}({})", fresh("r"), f.name, arguments));
}

// A loop over the variables of the program.
void LoopWriter::top_loop() {
  form("loop at the top level");
  is_integer_ = random_.chance(25);
  is_plain_ = random_.chance(40);
  const std::string of = is_integer_ ? "letters" : "noise";
  const std::string n = pick({"4", "5", "6"}), m = pick({"3", "5"});
  scope_ = {{"a", Kind::Matrix, "n", "m"},
            {"v", Kind::Vector, "n"},
            {"ks", Kind::Ints},
            {"xs", Kind::Vectors, "m"}};
  leaves_.clear();
  top(fmt::format("n = {0}; m = {1}; a = {2}({0}, {1}); v = {2}(1, {0})[0]", n, m, of));
  top(fmt::format("ks = [3, 1, 2]; xs = list({}(2, {}).unbind(0))", of, m));
  begin_locals(program_.statements);
  random_.chance(30) ? textbook(program_.statements) : loop(program_.statements, 2);
  loop(program_.statements, 2);
  closures_.clear();
}

}  // namespace kiln::testing

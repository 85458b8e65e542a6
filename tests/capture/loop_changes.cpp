// Statements of programs of loops that change what iterations carry, and what lies outside.
#include <fmt/format.h>

#include "tests/capture/loop_writer.h"

namespace kiln::testing {

void LoopWriter::change_number(Block& block) {
  switch (random_.below(10)) {
    case 0:
    case 1:
    case 2: {
      const std::string s = local(Kind::Float);
      if (s.empty()) break;
      form("carried float");
      if (random_.chance(40)) return line(block, fmt::format("{} += float({})", s, number(1)));
      return line(block, fmt::format("{0} = {0} * 0.5 + {1}", s, number(2)));
    }
    case 3:
    case 4: {
      const std::string t = local(Kind::Element);
      if (t.empty()) break;
      form("carried element");
      return line(block, fmt::format("{0} = {0} {1} {2}", t, pick({"+", "-", "*"}), number(2)));
    }
    case 5: {
      const std::string flag = local(Kind::Bool);
      if (flag.empty()) break;
      form("carried bool");
      return line(block, fmt::format("{} = {}", flag, condition(1)));
    }
    case 6:
      form("swap");
      return line(block, pick({"(x, y) = (y, x)", "(k, h) = (h, k + h)", "(v, x) = (x, v)"}));
    default:
      break;
  }
  form("carried int");
  if (is_reckless_ && random_.chance(15)) return line(block, "k = k * 1000003");
  line(block,
       fmt::format(fmt::runtime(pick({"{0} += 1", "{0} = ({0} * 31 + {1}) % 1009", "{0} += {1}", "{0} ^= {1}",
                                      "{0} = max({0}, {1})", "{0} -= {1}", "{0} = ({0} + {1}) // 2"})),
                   pick({"k", "k", "h"}), integer(2)));
}

// Vectors that are bound anew, so that another tensor is carried on.
void LoopWriter::change_vector(Block& block) {
  const std::string x = pick({"x", "x", "y"});
  const Part whole{"n", {":"}};
  switch (random_.below(8)) {
    case 0:
      if (loops_ > 1) break;
      form("carried tensor that grows");
      return line(block, fmt::format("z = cat([z, {}[:1]])", x));
    case 1:
      form("carried tensor of another dtype");
      return line(block,
                  fmt::format("if {} {{ {} = {}.to({}) }}", condition(0), x, x, is_integer_ ? "i64" : "f64"));
    case 2:
      form("carried tensor that is cleared");
      return line(block, fmt::format("{0} = {1}_like({0})", x, pick({"zeros", "ones"})));
    default:
      break;
  }
  form("carried tensor");
  line(block, fmt::format("{} = {}", x, vector(whole, 3)));
}

void LoopWriter::change_list(Block& block) {
  const std::string ks = local(Kind::Ints), xs = local(Kind::Vectors);
  switch (random_.below(8)) {
    case 0:
      if (ks.empty()) break;
      form("list of numbers that is written");
      return line(block, fmt::format("{0}[{1} % len({0})] {2} {3}", ks, integer(1), pick({"=", "+=", "-="}),
                                     integer(1)));
    case 1:
      if (ks.empty()) break;
      form("list of numbers that grows");
      return line(block, fmt::format("if len({0}) < 9 {{ {0}.append({1}) }}", ks, integer(1)));
    case 2:
      if (ks.empty()) break;
      form("list of numbers that shrinks");
      return line(block, fmt::format("if len({0}) > 1 {{ {0}.pop() }}", ks));
    case 3:
      if (xs.empty()) break;
      form("list of tensors that is written");
      return line(block, fmt::format("{0}[{1} % len({0})] = {2}", xs, integer(1), vector({"m", {":"}}, 2)));
    case 4:
      if (xs.empty()) break;
      form("tensor of a list that is written");
      return line(block, fmt::format("{0}[{1} % len({0})] += {2}", xs, integer(1), vector({"m", {":"}}, 1)));
    case 5:
      if (xs.empty()) break;
      form("list of tensors that grows");
      return line(block, fmt::format("if len({0}) < 6 {{ {0}.append({1}) }}", xs, vector({"m", {":"}}, 1)));
    case 6:
      if (xs.empty()) break;
      form("list of tensors made anew");
      return line(block, fmt::format("{0} = [t * {1} for t in {0}]", xs, literal()));
    default:
      break;
  }
  form("pair of numbers in a list");
  line(block, fmt::format("cell[{} % 2] = cell[{}] + {}", integer(0), pick({"0", "1"}), number(1)));
}

void LoopWriter::change_mask(Block& block) {
  const std::vector<Local> known = locals(Kind::Mask);
  if (known.empty()) return write_element(block);
  const Local mask = random_.pick(known);
  const std::string i = index(mask.rows);
  switch (random_.below(4)) {
    case 0:
      form("sieve");
      return line(block, fmt::format("{0}[{1}::{1} + 1] = {2}", mask.text, i, pick({"true", "false"})));
    case 1:
      form("count of bools");
      return line(block, fmt::format("k += int({}.sum())", mask.text));
    case 2:
      return line(block, fmt::format("{}[{}] = not {}[{}]", mask.text, i, mask.text, index(mask.rows)));
    default:
      form("write to an element of bools");
      return line(block, fmt::format("{}[{}] = {}", mask.text, i, condition(0)));
  }
}

void LoopWriter::change_outside(Block& block) {
  form("change of what lies outside");
  switch (random_.below(6)) {
    case 0:
      return line(block, fmt::format("box.total = box.total * 0.5 + {}", number(1)));
    case 1:
      return line(block, fmt::format("box.count += {}", integer(1)));
    case 2:
      return line(block, fmt::format("book[\"{}\"] = {}", pick({"s", "t"}), number(1)));
    case 3:
      return line(block, fmt::format("shared[{} % 4] {}= {}", integer(0), pick({"+", "-", "*"}), number(1)));
    case 4:
      form("print in a loop");
      return line(block, fmt::format("print({}, {})", integer(1), number(0)));
    default:
      return line(block, fmt::format("log.append({})", integer(1)));
  }
}

// Another name of a tensor, or of a part of it.
void LoopWriter::alias(Block& block) {
  const std::string name = fresh("z");
  switch (random_.below(4)) {
    case 0: {
      const std::vector<Local> known = locals(Kind::Matrix);
      if (known.empty()) break;
      const Local x = random_.pick(known);
      form("second name of a matrix");
      line(block, fmt::format("{} = {}", name, x.text));
      return declare(name, Kind::Matrix, x.rows, x.columns);
    }
    case 1: {
      const std::vector<Local> known = locals(Kind::Matrix);
      if (known.empty()) break;
      const Local x = random_.pick(known);
      form("transposed view");
      line(block, fmt::format("{} = {}.t()", name, x.text));
      return declare(name, Kind::Matrix, x.columns, x.rows);
    }
    case 2:
      form("view of an element");
      line(block, fmt::format("{} = {}", name, element()));
      return declare(name, Kind::Element);
    default:
      break;
  }
  const std::string size = pick({"n", "m"});
  form("view of a row or column");
  line(block, fmt::format("{} = {}", name, vector_leaf({size, {":"}})));
  declare(name, Kind::Vector, size);
}

void LoopWriter::call(Block& block) {
  const Part whole{pick({"n", "m"}), {":"}};
  switch (random_.below(6)) {
    case 0:
      form("function that writes its argument");
      return line(block, fmt::format("relax({}, {})", vector_leaf(whole), integer(0)));
    case 1:
      form("function with a loop and a return in it");
      return line(block, fmt::format("k += first_above({}, {})", vector_leaf(whole), number(0)));
    case 2:
      form("recursive function");
      return line(block, fmt::format("k += depth_of({} % 7)", integer(1)));
    case 3:
      form("method with fields");
      return line(block, fmt::format("box.add({})", number(1)));
    case 4:
      if (closures_.empty()) break;
      form("closure that changes its variable");
      return line(block, fmt::format("k += int({}({}))", random_.pick(closures_), integer(1)));
    default:
      break;
  }
  form("function of tensors");
  line(block, fmt::format("{} = mix({}, {})", pick({"x", "y"}), vector({"n", {":"}}, 1), number(1)));
}

void LoopWriter::draw(Block& block) {
  form("draw in a loop");
  const std::string e = element();
  const std::string target = e.find('[') == std::string::npos ? "shared[0]" : e;
  line(block, pick({fmt::format("{} = randint(0, 9, (1,))[0]", target), "k += int(rand(1)[0] * 10)",
                    "x = x + randint(0, 3, (n,))",
                    fmt::format("{} += {}(2).sum()", target, is_integer_ ? "randperm" : "rand"),
                    "if rand(1)[0] < 0.5 { k += 3 }", "v.bernoulli_(0.5)"}));
}

}  // namespace kiln::testing

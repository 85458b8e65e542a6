// Expressions of programs of loops.
#include <fmt/format.h>

#include "tests/capture/loop_writer.h"

namespace kiln::testing {

std::string LoopWriter::index(const std::string& size) {
  const std::vector<Local> known = locals(Kind::Index, size);
  const std::string k = local(Kind::Int);
  if (known.empty() || random_.chance(8)) {
    form("index of a carried int");
    return k.empty() || random_.chance(30) ? pick({"0", "-1"}) : fmt::format("{} % {}", k, size);
  }
  const std::string i = random_.pick(known).text;
  switch (random_.below(14)) {
    case 0:
      return fmt::format("({} + 1) % {}", i, size);
    case 1:
      return fmt::format("{} - 1 - {}", size, i);
    case 2:
      return i + " - 1";  // also -1
    case 3:
      return i + " // 2";
    case 4:
      if (!is_reckless_ || random_.chance(70)) return i;
      form("index out of range");
      return i + pick({" + 1", " - " + size + " - 1", " * 2"});
    default:
      return i;
  }
}

std::string LoopWriter::literal() {
  return is_integer_ ? pick({"1", "2", "3", "-1", "7"}) : pick({"0.5", "2.0", "-0.75", "1.25", "3", "0.1"});
}

std::string LoopWriter::integer(int depth) {
  std::vector<std::string> known{"1", "2", "3"};
  for (const Local& each : scope_) {
    if (each.kind == Kind::Int || each.kind == Kind::Index) known.insert(known.end(), 2, each.text);
  }
  const std::string ks = local(Kind::Ints);
  if (!ks.empty()) known.push_back(fmt::format("len({})", ks));
  if (depth <= 0 || random_.chance(40)) return random_.pick(known);
  switch (random_.below(9)) {
    case 0:
      form("int of an element");
      return fmt::format("int({}{})", element(), is_integer_ ? "" : " * 4");
    case 1:
      if (ks.empty()) break;
      form("item of a list");
      return fmt::format("{0}[{1} % len({0})]", ks, integer(0));
    case 2:
      return fmt::format("{}({}, {})", pick({"max", "min", "common"}), integer(depth - 1), integer(0));
    case 3:
      return fmt::format("({} {} {})", integer(depth - 1), pick({"//", "%"}), pick({"2", "3", "5"}));
    case 4:
      return fmt::format("({} {} {})", integer(depth - 1), pick({"&", "|", "^"}), integer(0));
    case 5:
      return fmt::format("({} if {} else {})", integer(0), condition(0), integer(0));
    default:
      break;
  }
  return fmt::format("({} {} {})", integer(depth - 1), pick({"+", "-", "*"}), integer(depth - 1));
}

std::string LoopWriter::element() {
  std::vector<std::string> known;
  for (const Local& each : scope_) {
    if (each.kind == Kind::Element) known.push_back(each.text);
    if (each.kind == Kind::Vector) known.push_back(fmt::format("{}[{}]", each.text, index(each.rows)));
    if (each.kind == Kind::Matrix)
      known.insert(known.end(), 2,
                   fmt::format("{}[{}, {}]", each.text, index(each.rows), index(each.columns)));
  }
  return known.empty() ? "tensor(" + literal() + ")" : random_.pick(known);
}

std::string LoopWriter::number(int depth) {
  if (depth <= 0 || random_.chance(30)) {
    std::vector<std::string> known{literal(), element(), element()};
    for (const Local& each : scope_) {
      if (each.kind == Kind::Float) known.insert(known.end(), 2, each.text);
      if (each.kind == Kind::Int || each.kind == Kind::Index) known.push_back(each.text);
    }
    return random_.pick(known);
  }
  switch (random_.below(13)) {
    case 0:
    case 1:
    case 2:
      return reduction(depth - 1);
    case 3:
      form("item()");
      return element() + ".item()";
    case 4:
      // Of a tensor and an int it would be the maximum along a dimension.
      return fmt::format("{}({}, {})", pick({"max", "min"}), element(),
                         random_.chance(50) ? element() : "0.5");
    case 5:
      return fmt::format("abs({})", number(depth - 1));
    case 6:
      form("choice of two values");
      return fmt::format("({} if {} else {})", number(0), condition(0), number(0));
    case 7:
      if (is_integer_) break;
      form("function of a number");
      return fmt::format("{}({})", pick({"sin", "tanh", "cos"}), number(depth - 1));
    case 8:
      if (closures_.empty() || loops_ > 2) break;
      form("closure called in a loop");
      return fmt::format("{}({})", random_.pick(closures_), integer(0));
    case 9:
      return fmt::format("({} * {})", integer(1), literal());
    default:
      break;
  }
  return fmt::format("({} {} {})", number(depth - 1), pick({"+", "-", "*"}), number(depth - 1));
}

std::string LoopWriter::reduction(int depth) {
  const Part of = part(pick({"n", "m"}));
  const std::string x = vector(of, depth);
  switch (random_.below(8)) {
    case 0:
    case 1:
      form("dot");
      return fmt::format("dot({}, {})", vector_leaf(of), x);
    case 2:
    case 3:
      form("product of slices");
      return fmt::format("({} @ {})", x, vector_leaf(of));
    case 4:
      form("max of a slice");
      return random_.chance(85) ? fmt::format("top_of({})", x) : x + pick({".max()", ".min()"});
    case 5:
      form("sum of squares by a function");
      return fmt::format("squares({})", x);
    default:
      form("sum of a slice");
      return x + (is_integer_ ? ".sum()" : pick({".sum()", ".sum()", ".mean()"}));
  }
}

std::string LoopWriter::condition(int depth) {
  if (depth > 0 && random_.chance(20))
    return fmt::format("{} {} {}", condition(0), pick({"and", "or"}), condition(0));
  switch (random_.below(10)) {
    case 0:
    case 1:
      form("condition on an int");
      return fmt::format("{} {} {}", integer(0), pick({"<", ">", "==", "!=", "<=", ">="}), integer(0));
    case 2:
      return fmt::format("{} % {} == {}", integer(0), pick({"2", "3"}), digit(2));
    case 3:
    case 4:
      form("condition on elements");
      return fmt::format("{} {} {}", element(), pick({"<", ">", "==", ">="}), number(0));
    case 5:
      if (!local(Kind::Bool).empty()) return pick({"", "not "}) + local(Kind::Bool);
      break;
    case 6:
      for (const Local& each : locals(Kind::Mask)) {
        form("condition on an element of bools");
        return fmt::format("{}[{}]", each.text, index(each.rows));
      }
      break;
    case 7:
      return fmt::format("0 <= {} < {}", integer(0), integer(0));
    case 8:
      form("condition on a reduction");
      return fmt::format("{} > {}", reduction(0), literal());
    default:
      break;
  }
  return fmt::format("{} > {}", number(0), literal());
}

}  // namespace kiln::testing

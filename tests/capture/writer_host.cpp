// Expressions that give host values.
#include <fmt/format.h>

#include "tests/capture/writer.h"

namespace kiln::testing {

std::string Writer::integer(int depth) {
  if (depth <= 0 || random_.chance(30)) return variable(Kind::Int).text;
  switch (random_.below(12)) {
    case 0:
      return tensor_variable().text + ".ndim";
    case 1:
      return tensor_variable().text + ".numel()";
    case 2:
      return tensor_variable().text + ".shape[0]";
    case 3:
      return fmt::format("len({})", variable(Kind::Tensors).text);
    case 4:
      return fmt::format("len({})", variable(Kind::Ints).text);
    case 5:
      return fmt::format("sum({})", variable(Kind::Ints).text);
    case 6:
      return variable(Kind::Ints).text + pick({"[0]", "[-1]", ".index(1)", ".count(2)"});
    case 7:
      return variable(Kind::Layer).text + ".n";
    case 8:
      return variable(Kind::Dict).text + pick({"[\"n\"]", ".get(\"n\", 2)", ".get(\"zz\", 1)"});
    case 9:
      return fmt::format("max({}, {})", integer(depth - 1), integer(depth - 1));
    case 10:
      return fmt::format("len({})", variable(Kind::Dict).text);
    default:
      return fmt::format("({} {} {})", integer(depth - 1), pick({"+", "-", "*", "//", "%"}),
                         random_.chance(50) ? integer(depth - 1) : std::to_string(1 + random_.below(3)));
  }
}

std::string Writer::real(int depth) {
  if (random_.chance(30)) return pick({"0.5", "2.0", "-1.25", "1e-3", "3.", "0.0"});
  if (depth <= 0 || random_.chance(60)) return variable(Kind::Float).text;
  if (random_.chance(25)) return variable(Kind::Dict).text + ".get(\"lr\", 0.25)";
  return fmt::format("({} {} {})", real(depth - 1), pick({"+", "*", "-"}), integer(depth - 1));
}

std::string Writer::text_value() {
  switch (random_.below(4)) {
    case 0:
      return variable(Kind::Text).text;
    case 1:
      return fmt::format("f\"{{{}}}-{{{}:.2f}}\"", integer(1), real(1));
    case 2:
      return fmt::format("str({})", integer(1));
    default:
      return fmt::format("({} + \"!\")", variable(Kind::Text).text);
  }
}

std::string Writer::condition(int depth) {
  if (depth > 0 && random_.chance(15))
    return fmt::format("({} {} {})", condition(depth - 1), pick({"and", "or"}), condition(depth - 1));
  const std::string x = tensor_variable().text;
  switch (random_.below(15)) {
    case 0:
    case 1:
      return fmt::format("{} {} {}", integer(1), pick({"<", ">", "==", "!=", "<=", ">="}), digit(5));
    case 2:
      return fmt::format("{} {} {}", real(0), pick({"<", ">", "=="}), pick({"0.5", "1.0", "2.0"}));
    case 3:
      return variable(Kind::Bool).text;
    case 4:
      return fmt::format("{} is {}", x, tensor_variable().text);
    case 5:
      return fmt::format("{}.dtype == {}", x, pick({"f32", "f64", "i64", "bool"}));
    case 6:
      return x + ".requires_grad";
    case 7:
      return x + ".is_contiguous()";
    case 8:
      return fmt::format("{}.ndim == {}", x, digit(4));
    case 9:
      return fmt::format("{} == {}", variable(Kind::Text).text, pick({"\"a\"", "\"b\"", "\"relu\""}));
    case 10:
      return fmt::format("\"{}\" in {}", pick({"a", "n", "new"}), variable(Kind::Dict).text);
    case 11:
      return fmt::format("{} in {}", digit(4), variable(Kind::Ints).text);
    case 12:
      return variable(Kind::Layer).text + pick({".b is none", ".on", ".n > 2", ".w is not none"});
    case 13:
      return variable(Kind::Tensors).text;
    default:
      return fmt::format("{}.shape == {}", x, pick({"(3, 3)", "(3,)", "()"}));
  }
}

std::string Writer::host(int depth) {
  switch (random_.below(5)) {
    case 0:
      return real(depth);
    case 1:
      return condition(depth);
    case 2:
      return text_value();
    default:
      return integer(depth);
  }
}

}  // namespace kiln::testing

// Slices, and expressions over slices of one length.
#include <fmt/format.h>

#include "tests/capture/loop_writer.h"

namespace kiln::testing {

std::string LoopWriter::operation() {
  return is_integer_ ? pick({"+", "-", "*", "+", "&", "^", "|"}) : pick({"+", "-", "*", "+", "*", "/"});
}

LoopWriter::Part LoopWriter::part(const std::string& size) {
  const std::vector<Local> known = locals(Kind::Index, size);
  if (known.empty() || random_.chance(40)) {
    const std::vector<std::vector<std::string>> fixed{
        {":"}, {":"}, {"1:", ":-1"}, {"1:", ":-1"}, {":-2", "1:-1", "2:"}, {"::2"}, {":2"}, {"-1:"}};
    return {size, random_.pick(fixed)};
  }
  form("slice that follows the iteration");
  const std::string i = random_.pick(known).text, j = random_.pick(known).text;
  switch (random_.below(7)) {
    case 0:
    case 1:
      return {size, {":" + i, size + " - " + i + ":"}};
    case 2:
      return {size, {i + ":", ":" + size + " - " + i}};
    case 3:
      return {size, {i + " + 1:", fmt::format(":{} - {} - 1", size, i)}};
    case 4:
      return {size, {fmt::format(":{} + 1", i)}};
    case 5:
      return {size, {fmt::format("{}:{}", j, i)}};
    default:
      return {size, {fmt::format("{}::2", i)}};
  }
}

std::string LoopWriter::vector_leaf(const Part& part) {
  std::vector<std::string> known;
  const std::string slice = pick(part.slices);
  for (const Local& each : scope_) {
    if (each.kind == Kind::Vector && each.rows == part.size)
      known.push_back(slice == ":" ? each.text : fmt::format("{}[{}]", each.text, slice));
    if (each.kind == Kind::Matrix && each.columns == part.size)
      known.push_back(slice == ":" ? fmt::format("{}[{}]", each.text, index(each.rows))
                                   : fmt::format("{}[{}, {}]", each.text, index(each.rows), slice));
    if (each.kind == Kind::Matrix && each.rows == part.size)
      known.push_back(fmt::format("{}[{}, {}]", each.text, slice, index(each.columns)));
  }
  return known.empty() ? fmt::format("full(({},), {})[{}]", part.size, literal(), slice)
                       : random_.pick(known);
}

std::string LoopWriter::vector(const Part& part, int depth) {
  if (depth <= 0 || random_.chance(30)) return vector_leaf(part);
  switch (random_.below(10)) {
    case 0:
    case 1:
      return fmt::format("({} {} {})", vector(part, depth - 1), operation(), number(0));
    case 2:
      if (is_integer_) break;
      form("function of a slice");
      return vector(part, depth - 1) + pick({".sin()", ".tanh()", ".abs()", ".sqrt()", ".exp()"});
    case 3:
      form("where of slices");
      return fmt::format("where({} > {}, {}, {})", vector_leaf(part), number(0), vector(part, depth - 1),
                         vector_leaf(part));
    case 4:
      return fmt::format("{}({}, {})", pick({"maximum", "minimum"}), vector(part, depth - 1),
                         vector_leaf(part));
    case 5:
      return fmt::format("(-{})", vector(part, depth - 1));
    case 6:
      form("scan or move of a slice");
      return vector_leaf(part) + pick({".flip(0)", ".cumsum(0)", ".clone()", ".roll(1, 0)"});
    default:
      break;
  }
  return fmt::format("({} {} {})", vector(part, depth - 1), operation(), vector(part, depth - 1));
}

}  // namespace kiln::testing

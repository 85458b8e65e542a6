// Heads of loops, each with what its iterations are given.
#include <utility>

#include <fmt/format.h>

#include "tests/capture/loop_writer.h"

namespace kiln::testing {

void LoopWriter::loop(Block& block, int depth) {
  const std::vector<Local> before = scope_;
  const bool outer = std::exchange(may_continue_, true);
  Statement made = head(block);
  if (loops_ > 0) form("loop in a loop");
  ++loops_;
  statements(made.body, 1 + random_.below(3), depth);
  --loops_;
  may_continue_ = outer;
  scope_ = before;
  block.push_back(std::move(made));
}

Statement LoopWriter::head(Block& block) {
  switch (random_.below(14)) {
    case 0:
    case 1:
      return while_head(block);
    case 2:
      return while_on_values(block);
    case 3:
    case 4:
      return item_head();
    case 5:
    case 6:
      return pair_head();
    default:
      return range_head();
  }
}

Statement LoopWriter::range_head() {
  const std::string i = fresh("i");
  const std::vector<Local> indices = locals(Kind::Index);
  const std::string size =
      indices.empty() || random_.chance(40) ? pick({"n", "m"}) : random_.pick(indices).rows;
  const std::vector<Local> outer = locals(Kind::Index, size);
  const auto over = [&](const std::string& range, const char* name) {
    form(name);
    declare(i, Kind::Index, size);
    return Statement{fmt::format("for {} in {} {{", i, range), {}, "}"};
  };
  if (!outer.empty() && random_.chance(60)) {
    const std::string j = random_.pick(outer).text;
    switch (random_.below(5)) {
      case 0:
      case 1:
        return over(fmt::format("range({})", j), "range below an outer number");
      case 2:
        return over(fmt::format("range({} + 1, {})", j, size), "range above an outer number");
      case 3:
        return over(fmt::format("range({} - 1, {}, -1)", size, j), "range down to an outer number");
      default:
        return over(fmt::format("range({}, -1, -1)", j), "range down from an outer number");
    }
  }
  switch (random_.below(15)) {
    case 0:
    case 1:
      return over(fmt::format("range(1, {})", size), "range from 1");
    case 2:
      return over(fmt::format("range({} - 1, -1, -1)", size), "range downwards");
    case 3:
      return over(fmt::format("reversed(range({}))", size), "reversed range");
    case 4:
      return over(fmt::format("range(0, {}, 2)", size), "range with a step");
    case 5:
      return over(fmt::format("range({} - 1, 0, -2)", size), "range downwards with a step");
    case 6:
      return over(pick({"range(0)", "range(3, 1)", "range(0, 3, -1)"}), "range of no iteration");
    case 7:
      return over(pick({"range(1)", "range(0, -1, -1)"}), "range of one iteration");
    case 8:
      return over(fmt::format("progress(range({}))", size), "progress of a range");
    case 9: {
      form("range of a number");
      declare(i, Kind::Int);
      return {fmt::format("for {} in range({}) {{", i, pick({"5", "9", "24", "n + m", "2 * n"})), {}, "}"};
    }
    case 10: {
      const std::string k = local(Kind::Int);
      if (k.empty()) break;
      form("range of a carried int");
      declare(i, Kind::Int);
      return {fmt::format("for {} in range({} % 6) {{", i, k), {}, "}"};
    }
    default:
      break;
  }
  return over(fmt::format("range({})", size), "range");
}

// Counters, which stand within the line of the head or the tail: without them a loop does not end.
Statement LoopWriter::while_head(Block& block) {
  const std::string at = fresh("at"), size = pick({"n", "m"}), i = fresh("i");
  const auto counted = [&](const char* name, std::string begin, std::string head, std::string tail) {
    form(name);
    line(block, fmt::format("{} = {}", at, begin));
    may_continue_ = tail == "}";
    return Statement{std::move(head), {}, std::move(tail), true};
  };
  switch (random_.below(6)) {
    case 0:
      declare(at, Kind::Index, size);
      return counted("while upwards, counter last", "0", fmt::format("while {} < {} {{", at, size),
                     fmt::format("{} += 1 }}", at));
    case 1:
      declare(at, Kind::Index, size);
      return counted("while downwards, counter last", size + " - 1", fmt::format("while {} >= 0 {{", at),
                     fmt::format("{} -= 1 }}", at));
    case 2:
      declare(i, Kind::Index, size);
      return counted("while, counter first", "0",
                     fmt::format("while {0} < {1} {{ {2} = {0}; {0} += 1", at, size, i), "}");
    case 3:
      return counted(
          "while true with a break", "0",
          fmt::format("while true {{ {0} += 1; if {0} > {1} {{ break }}", at, pick({"6", size, "2 * n"})),
          "}");
    case 4:
      return counted("while halving", pick({"37", "2 * n + 5"}),
                     fmt::format("while {0} > {1} {{ {0} //= 2", at, pick({"0", "1"})), "}");
    default:
      declare(at, Kind::Int);
      return counted("while of Collatz", pick({"7", "n + 3", "27"}),
                     fmt::format("while {0} > 1 {{ {0} = 3 * {0} + 1 if {0} % 2 == 1 else {0} // 2", at),
                     "}");
  }
}

// Conditions on floats, bools and elements, with what brings them to an end in the line of the head.
// Iterations are given a copy of it, since a loop whose condition they change may not end.
Statement LoopWriter::while_on_values(Block& block) {
  const std::string t = fresh("t"), at = fresh("at");
  const auto begun = [&](const char* name, const std::string& begin, std::string head) {
    form(name);
    line(block, begin);
    return Statement{std::move(head), {}, "}", true};
  };
  const auto given = [&](const char* name, const std::string& begin, const std::string& head, Kind kind,
                         const char* copy) {
    const std::string own = fresh("u");
    declare(own, kind);
    return begun(name, begin, fmt::format("{}; {} = {}{}", head, own, t, copy));
  };
  switch (random_.below(6)) {
    case 0:
      return given("while on an element", t + (is_integer_ ? " = tensor(0)" : " = tensor(0.0)"),
                   fmt::format("while {0} < {1} {{ {0} = {0} + 1", t, pick({"5", "n", "8.5"})), Kind::Element,
                   " * 1");
    case 1:
      return begun("while on item()", t + " = zeros(2)",
                   fmt::format("while {0}[1].item() < {1} {{ {0}[1] += 1", t, pick({"5", "m"})));
    case 2:
      return given("while on int of an element", t + " = tensor(1)",
                   fmt::format("while int({0}) < {1} {{ {0} += 2", t, pick({"9", "2 * n"})), Kind::Element,
                   " * 1");
    case 3: {
      const std::string head =
          fmt::format("while {0} > {1} {{ {0} *= {2}", t, pick({"0.1", "1"}), pick({"0.5", "0.7"}));
      if (is_integer_) return begun("while on a float", t + " = 8.0", head);
      return given("while on a float", t + " = 8.0", head, Kind::Float, "");
    }
    case 4:
      return given("while on a bool", fmt::format("{} = true; {} = 0", t, at),
                   fmt::format("while {0} {{ {1} += 1; {0} = {1} < 5 and {2}", t, at, condition(0)),
                   Kind::Bool, "");
    default:
      return begun("while on two conditions", at + " = 0",
                   fmt::format("while {0} < 12 and {1} {{ {0} += 1", at, condition(0)));
  }
}

Statement LoopWriter::item_head() {
  const std::string t = fresh("t");
  const std::string ks = local(Kind::Ints), xs = local(Kind::Vectors);
  const auto over = [&](const char* name, const std::string& items, Kind kind, const char* rows = "") {
    form(name);
    declare(t, kind, rows);
    return Statement{fmt::format("for {} in {} {{", t, items), {}, "}"};
  };
  switch (random_.below(8)) {
    case 0:
      if (!locals(Kind::Vector, "n").empty())
        return over("elements of a vector", random_.pick(locals(Kind::Vector, "n")).text, Kind::Element);
      break;
    case 1:
      return over(
          "numbers of tolist()",
          (locals(Kind::Vector, "n").empty() ? "ones(n)" : locals(Kind::Vector, "n")[0].text) + ".tolist()",
          is_integer_ ? Kind::Int : Kind::Float);
    case 2:
      if (!ks.empty()) return over("a list of ints", ks + pick({"", "[1:]", "[:3]"}), Kind::Int);
      break;
    case 3:
      if (!xs.empty()) return over("a list of tensors", xs, Kind::Vector, "m");
      break;
    case 4:
      return over("a list of numbers that is written",
                  is_integer_ ? "[5, -1, 2, 3, 0]" : "[0.5, -1.25, 2.0, 3.5, 0.25]",
                  is_integer_ ? Kind::Int : Kind::Float);
    case 5:
      return over("columns of a matrix", "a.t()", Kind::Vector, "n");
    default:
      break;
  }
  return over("rows of a matrix", pick({"a", "a", "a[1:]", "a.clone()"}), Kind::Vector, "m");
}

Statement LoopWriter::pair_head() {
  const std::string i = fresh("i"), s = fresh("t"), t = fresh("t");
  const auto over = [&](const char* name, const std::string& head) {
    form(name);
    return Statement{"for " + head + " {", {}, "}"};
  };
  switch (random_.below(7)) {
    case 0:
      declare(i, Kind::Index, "n");
      declare(t, Kind::Vector, "m");
      return over("enumerate of rows", fmt::format("{}, {} in enumerate(a)", i, t));
    case 1:
      declare(s, Kind::Vector, "m");
      declare(t, Kind::Vector, "m");
      return over("zip of rows", fmt::format("{}, {} in zip(a, a.flip(0))", s, t));
    case 2:
      declare(i, Kind::Index, "n");
      declare(s, Kind::Vector, "m");
      declare(t, Kind::Vector, "m");
      return over("enumerate of zip", fmt::format("{}, ({}, {}) in enumerate(zip(a, a * 2))", i, s, t));
    case 3:
      declare(i, Kind::Index, "n");
      declare(t, is_integer_ ? Kind::Int : Kind::Float);
      return over("zip of a range and numbers",
                  fmt::format("{}, {} in zip(range(n), a[:, 0].tolist())", i, t));
    case 4:
      declare(s, Kind::Int);
      declare(t, Kind::Int);
      return over("a list of pairs", fmt::format("{}, {} in [(0, 1), (2, 5), (1, 3), (4, 4)]", s, t));
    case 5:
      declare(i, Kind::Index, "n");
      declare(t, Kind::Element);
      return over("enumerate of elements", fmt::format("{}, {} in enumerate(a[:, -1])", i, t));
    default:
      declare(s, Kind::Vector, "m");
      declare(i, Kind::Int);
      return over("zip of rows and a list", fmt::format("{}, {} in zip(a, [3, 1, 4, 1, 5, 9])", s, i));
  }
}

}  // namespace kiln::testing

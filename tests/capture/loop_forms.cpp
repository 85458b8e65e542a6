// Forms of numbers, lists and calls that programs have beside writes of tensors.
#include <fmt/format.h>

#include "tests/capture/loop_writer.h"

namespace kiln::testing {

void LoopWriter::use_function(Block& block) {
  switch (random_.below(5)) {
    case 0:
      form("annotated function with names and defaults");
      return line(block,
                  fmt::format("k += clipped({}{})", integer(1), pick({"", ", 2", ", hi=5", ", hi=3, lo=1"})));
    case 1:
      form("annotated sizes");
      return line(block, fmt::format("acc = acc + spread({})", vector_leaf({pick({"n", "m"}), {":"}})));
    case 2:
      form("annotation that may not hold");
      return line(block, fmt::format("s = tempered({})", is_reckless_ ? number(1) : "s"));
    case 3:
      form("several results");
      return line(block, fmt::format("(k, h) = divided({}, 7)", integer(1)));
    default:
      form("variable of the module that a function assigns");
      return line(block, fmt::format("k += tick({})", integer(0)));
  }
}

void LoopWriter::use_list(Block& block) {
  switch (random_.below(5)) {
    case 0:
      form("stack");
      return line(block, fmt::format("pile.append({}); if len(pile) > 3 {{ k += pile.pop() }}", integer(1)));
    case 1:
      form("write to an item of a list");
      return line(block, fmt::format("tally[{} % 5] {}= {}", integer(0), pick({"+", "-", ""}), integer(1)));
    case 2:
      form("recurrence over a list");
      return line(block, fmt::format("pile.append((pile[-1] * 3 + {}) % 101)", integer(0)));
    case 3:
      form("entry of a dict");
      return line(block, fmt::format("book[\"t\"] += {}; k += book[\"t\"] % 3", integer(0)));
    default:
      form("index of a tuple that varies");
      return line(
          block, fmt::format("k += {}[{} % 4]", pick({"(3, 1, 4, 1)", "[2, 7, 1, 8]", "tally"}), integer(1)));
  }
}

void LoopWriter::use_number(Block& block) {
  switch (random_.below(5)) {
    case 0:
      form("number in a range or among numbers");
      return line(block, fmt::format("if {} % 10 {} {} {{ k += 1 }}", integer(1), pick({"in", "not in"}),
                                     pick({"range(2, 9)", "range(9, 0, -3)", "[1, 4, 7]", "(0, 5)"})));
    case 1:
      form("least of an int and a float");
      return line(block, fmt::format("h = int({}({}, {}) * 2)", pick({"min", "max"}), integer(0),
                                     pick({"2.5", "0.5", "-1.0"})));
    case 2:
      form("loop over numbers that are written");
      return line(block, fmt::format("for {0} in {1} {{ k = (k * 2 + {0}) % 1009 }}", fresh("e"),
                                     pick({"(2, 5, -1)", "[0, 1]", "reversed(range(4))", "range(2, 8, 3)"})));
    case 3:
      form("print now and then");
      return line(block, fmt::format("if k % {} == 0 {{ print(f\"at {{k}} {{s}}\") }}", pick({"3", "7"})));
    default:
      form("fields of an object");
      return line(block, fmt::format("box.count = (box.count * 5 + {}) % 97; h = box.count", integer(0)));
  }
}

void LoopWriter::use_struct(Block& block) {
  switch (random_.below(5)) {
    case 0:
      form("struct made anew");
      return line(block, fmt::format("pair = Pair({}, pair.first)", integer(1)));
    case 1:
      form("two names of a struct");
      return line(block, fmt::format("{} = {}", pick({"other", "pair"}), pick({"pair", "other", "Pair(h)"})));
    case 2:
      form("write to a field of what the loop made");
      return line(block,
                  fmt::format("{}.second = {}; k += pair.sum() % 11", pick({"other", "pair"}), integer(1)));
    case 3:
      form("method that makes a struct");
      return line(block, fmt::format("pair = other.with_first({})", integer(1)));
    default:
      form("method that writes a field");
      return line(block, fmt::format("k += {}.bump({}) % 7", pick({"other", "pair"}), integer(0)));
  }
}

void LoopWriter::use_text(Block& block) {
  switch (random_.below(3)) {
    case 0:
      form("letter at a place");
      return line(block, fmt::format("k += ord(words[{} % 7]) % 5", integer(1)));
    case 1: {
      form("loop over text");
      const std::string c = fresh("c");
      return line(
          block, fmt::format("for {0} in words {{ if {0} in \"ab\" {{ k += 1 }} else if {0} {1} \"c\" {{ h = "
                             "(h + 1) % 50 }} }}",
                             c, pick({">", "<=", "!="})));
    }
    default:
      form("letter that the loop keeps");
      return line(block, fmt::format("mark = words[{} % 7]; if mark == words[0] {{ h = 3 }}", integer(0)));
  }
}

}  // namespace kiln::testing

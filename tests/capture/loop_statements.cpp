// Statements of programs of loops: what writes tensors, and what decides.
#include <utility>

#include <fmt/format.h>

#include "tests/capture/loop_writer.h"

namespace kiln::testing {

std::vector<LoopWriter::Local> LoopWriter::locals(Kind kind, const std::string& rows) const {
  std::vector<Local> found;
  for (const Local& each : scope_) {
    if (each.kind == kind && (rows.empty() || each.rows == rows)) found.push_back(each);
  }
  return found;
}

std::string LoopWriter::local(Kind kind) {
  const std::vector<Local> known = locals(kind);
  return known.empty() ? "" : random_.pick(known).text;
}

void LoopWriter::declare(std::string text, Kind kind, std::string rows, std::string columns) {
  scope_.push_back({std::move(text), kind, std::move(rows), std::move(columns)});
}

void LoopWriter::statements(Block& block, int count, int depth) {
  for (int k = 0; k < count; ++k) statement(block, depth);
}

void LoopWriter::statement(Block& block, int depth) {
  switch (random_.below(26)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return write_element(block);
    case 4:
    case 5:
    case 6:
      return write_slice(block);
    case 7:
      return write_grid(block);
    case 8:
    case 9:
    case 10:
      return change_number(block);
    case 11:
      return change_vector(block);
    case 12:
      return change_list(block);
    case 13:
      return change_mask(block);
    case 14:
      return change_outside(block);
    case 15:
      return alias(block);
    case 16:
      return random_.chance(60) ? call(block) : draw(block);
    case 17:
      return is_reckless_ ? fail(block) : leave(block);
    case 18:
      return leave(block);
    case 19:
    case 20:
      return branch(block, depth);
    case 21:
      return random_.chance(30) ? attempt(block, depth) : branch(block, depth);
    default:
      return depth > 0 && loops_ < 3 ? loop(block, depth - 1) : write_element(block);
  }
}

void LoopWriter::write_element(Block& block) {
  const std::string e = element();
  const std::string value = number(2);
  if (is_leaf(e)) return change_number(block);
  if (e.find('[') == std::string::npos) {  // an element that stands in a variable, or a constant
    if (e.find('(') != std::string::npos) return change_number(block);
    form("write to an element of a variable");
    return line(block, fmt::format(fmt::runtime(pick({"{}.add_({})", "{} += {}", "{}.mul_({})"})), e, value));
  }
  form("write to an element");
  if (random_.chance(40)) return line(block, fmt::format("{} = {}", e, value));
  if (random_.chance(20)) {
    form("write of a recurrence");
    return line(block, fmt::format("{} = {}({}, {})", e, pick({"max", "min"}), e, element()));
  }
  form("augmented write to an element");
  line(block, fmt::format("{} {}= {}", e, operation(), value));
}

void LoopWriter::write_slice(Block& block) {
  const Part of = part(pick({"n", "m"}));
  const std::string target = vector_leaf(of);
  if (is_leaf(target) || target.find("full(") != std::string::npos) return change_number(block);
  if (of.slices.size() > 1) form("slices that may overlap");
  const std::string value = random_.chance(25) ? number(1) : vector(of, 2);
  const std::string whole = target.find('[') == std::string::npos ? target + "[:]" : target;
  switch (random_.below(6)) {
    case 0:
    case 1:
      form("write to a slice");
      return line(block, fmt::format("{} = {}", whole, value));
    case 2:
      form("method that writes to a slice");
      return line(block,
                  fmt::format("{}.{}({})", whole, pick({"add_", "mul_", "sub_", "copy_"}), vector(of, 1)));
    default:
      form("augmented write to a slice");
      return line(block, fmt::format("{} {}= {}", whole, operation(), value));
  }
}

// Two dimensions at once: a stencil, or a block.
void LoopWriter::write_grid(Block& block) {
  const std::vector<Local> known = locals(Kind::Matrix);
  if (known.empty()) return write_slice(block);
  const Local x = random_.pick(known), y = random_.pick(known);
  if (is_leaf(x.text)) return change_number(block);
  if (x.rows == y.rows && x.columns == y.columns && random_.chance(60)) {
    form("stencil");
    const std::string reads = fmt::format(
        "{0}[:-2, 1:-1] + {0}[2:, 1:-1] - {0}[1:-1, 1:-1] * 2 + {0}[1:-1, {1}]", y.text, pick({":-2", "2:"}));
    return line(block, fmt::format("{}[1:-1, 1:-1] {} {}", x.text, pick({"=", "+=", "-="}),
                                   is_integer_ ? reads : "(" + reads + ") * 0.25"));
  }
  const Part rows = part(x.rows), columns = part(x.columns);
  const std::string write = fmt::format("{}[{}, {}]", x.text, pick(rows.slices), pick(columns.slices));
  form("write to a block");
  switch (random_.below(3)) {
    case 0:
      return line(block, fmt::format("{} {}= {}", write, operation(), number(1)));
    case 1:
      form("outer product of slices");
      return line(block, fmt::format("{} -= {}.unsqueeze(1) * {}.unsqueeze(0)", write, vector_leaf(rows),
                                     vector_leaf(columns)));
    default:
      return line(block, fmt::format("{} {}= {}", write, operation(), vector(columns, 1)));
  }
}

void LoopWriter::branch(Block& block, int depth) {
  form("if");
  const std::vector<Local> before = scope_;
  Statement then{"if " + condition(1) + " {", {}, "}"};
  statements(then.body, 1 + random_.below(2), depth > 0 ? depth - 1 : 0);
  scope_ = before;
  // Further branches stand in the tail, so that none is left without its first.
  const auto one_line = [&](const std::string& head) {
    Block body;
    switch (random_.below(3)) {
      case 0:
        write_element(body);
        break;
      case 1:
        write_slice(body);
        break;
      default:
        change_number(body);
        break;
    }
    scope_ = before;
    return fmt::format("}} {} {{ {} ", head, body.back().head);
  };
  std::string rest;
  if (random_.chance(30)) {
    form("else if");
    rest += one_line("else if " + condition(0));
  }
  if (random_.chance(50)) {
    form("else");
    rest += one_line("else");
  }
  then.tail = rest + "}";
  block.push_back(std::move(then));
}

void LoopWriter::leave(Block& block) {
  if (loops_ == 0) return change_number(block);
  std::vector<std::string> ways{"break"};
  if (may_continue_) ways.insert(ways.end(), 2, "continue");
  if (in_function_ && leaves_.empty() && random_.chance(40)) ways = {"return " + number(0)};
  const std::string way = pick(ways);
  form(way.substr(0, way.find(' ')) + " in a loop");
  line(block, fmt::format("if {} {{ {} }}", condition(1), way));
}

void LoopWriter::attempt(Block& block, int depth) {
  form("try in a loop");
  const std::vector<Local> before = scope_;
  const std::string e = fresh("e");
  Statement tried{"try {", {}, "}"};
  if (random_.chance(40)) fail(tried.body);
  statements(tried.body, 1, depth > 0 ? depth - 1 : 0);
  if (random_.chance(40)) fail(tried.body);
  scope_ = before;
  tried.tail = fmt::format("}} catch {0} {{ print({0}.kind, {0}.message, {0}.line); {1} }}", e,
                           pick({"", "calm(a)", loops_ > 0 ? "break" : ""}));
  block.push_back(std::move(tried));
}

// An error, in an iteration that the program does not name.
void LoopWriter::fail(Block& block) {
  const std::string i = local(Kind::Index), k = local(Kind::Int);
  const std::string at = i.empty() ? (k.empty() ? "2" : k) : i;
  switch (random_.below(9)) {
    case 0:
      form("error: index out of range");
      return line(block, fmt::format("a[{} + 2, 0] {} 1", at, pick({"=", "+=", "-="})));
    case 1:
      form("error: division by zero");
      return line(block, fmt::format("k = 12 {} ({} - {})", pick({"//", "%"}), at, digit(4)));
    case 2:
      form("error: ints overflow");
      return line(block, pick({"k = k * 3037000500 + 3", "k = 4611686018427387904 * (k + 1)",
                               fmt::format("k = k + 9223372036854775806 * {}", at)}));
    case 3:
      form("error: shapes");
      return line(block, fmt::format("v[:{0}] = v[:{0} + 1] * 2", at));
    case 4:
      form("error: thrown");
      return line(block, fmt::format("if {} {{ throw \"stop\" }}", condition(0)));
    case 5:
      form("error: assertion");
      return line(block, fmt::format("assert {} < {}, \"too far\"", at, digit(6)));
    case 6:
      form("error: item of a list");
      return line(block, fmt::format("k = [3, 1, 2][{}]", at));
    case 7:
      form("error: division of floats by zero");
      return line(block, fmt::format("s = 1.5 / ({} - {})", at, digit(4)));
    default:
      form("error: name without a value");
      return line(block, fmt::format("if {} == {} {{ k = undefined_name }}", at, digit(4)));
  }
}

}  // namespace kiln::testing

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

void LoopWriter::plain_statement(Block& block, int depth) {
  switch (random_.below(17)) {
    case 12:
      return use_function(block);
    case 13:
      return use_list(block);
    case 14:
      return use_number(block);
    case 15:
      return use_struct(block);
    case 16:
      return use_text(block);
    case 0:
    case 1:
    case 2:
      return write_element(block);
    case 3:
    case 4:
      return write_slice(block);
    case 5:
    case 6:
      return change_number(block);
    case 7:
      return leave(block);
    case 8:
    case 9:
      return branch(block, depth);
    default:
      return depth > 0 && loops_ < 3 ? loop(block, depth - 1) : change_number(block);
  }
}

// What tensors that carry gradients go through.
void LoopWriter::gradient_statement(Block& block, int depth) {
  switch (random_.below(20)) {
    case 0:
    case 1:
      return write_element(block);
    case 2:
    case 3:
    case 4:
      return write_slice(block);
    case 5:
      return write_grid(block);
    case 6:
    case 7:
      return change_number(block);
    case 8:
    case 9:
    case 10:
      return change_vector(block);
    case 11:
    case 12:
      return alias(block);
    case 13:
      return call(block);
    case 14:
      return leave(block);
    case 15:
    case 16:
      return branch(block, depth);
    case 17:
      return use_function(block);
    default:
      return depth > 0 && loops_ < 3 ? loop(block, depth - 1) : change_vector(block);
  }
}

void LoopWriter::statement(Block& block, int depth) {
  if (is_plain_) return plain_statement(block, depth);
  if (for_gradients_) return gradient_statement(block, depth);
  switch (random_.below(31)) {
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
    case 22:
      return use_function(block);
    case 23:
      return use_list(block);
    case 24:
      return use_number(block);
    case 25:
      return use_struct(block);
    case 26:
      return use_text(block);
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

}  // namespace kiln::testing

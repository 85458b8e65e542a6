// Statements with others inside.
#include <utility>

#include <fmt/format.h>

#include "tests/capture/writer.h"

namespace kiln::testing {

void Writer::statements(Block& block, int count, int depth) {
  for (int k = 0; k < count; ++k) statement(block, depth);
}

void Writer::statement(Block& block, int depth) {
  if (has_numbers_ && random_.chance(25)) return numbers_statement(block);
  switch (random_.below(20)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      return tensor_statement(block);
    case 5:
    case 6:
    case 7:
      return write_statement(block);
    case 8:
    case 9:
      return collection_statement(block);
    case 10:
      return layer_statement(block);
    case 11:
      return host_statement(block);
    case 12:
      return random_.chance(60) ? break_statement(block) : host_statement(block);
    case 13:
      return call_statement(block);
    case 14:
      return random_.chance(50) ? closure_statement(block) : call_statement(block);
    case 15:
      return random_.chance(50) ? gradient_statement(block) : tensor_statement(block);
    default:
      return depth > 0 ? flow_statement(block, depth - 1) : tensor_statement(block);
  }
}

void Writer::flow_statement(Block& block, int depth) {
  switch (random_.below(8)) {
    case 0:
    case 1:
    case 2:
      return branch(block, depth);
    case 3:
    case 4:
    case 5:
      return loop(block, depth);
    case 6:
      return attempt(block, depth);
    default:
      return scope(block, depth);
  }
}

// What is declared inside need not have a value afterwards.
void Writer::in_scope(Block& block, int count, int depth) {
  const std::vector<Typed> before = scope_;
  statements(block, count, depth);
  scope_ = before;
}

void Writer::branch(Block& block, int depth) {
  const bool on_data = random_.chance(15);
  const std::string c = on_data ? tensor_variable().text + ".sum() > 0" : condition(1);
  Statement then{"if " + c + " {", {}, "}"};
  in_scope(then.body, 1 + random_.below(2), depth);
  if (in_function_ && random_.chance(15)) then.body.push_back({"return " + tensor_variable().text, {}, ""});
  if (loops_ > 0 && random_.chance(25)) then.body.push_back({pick({"break", "continue"}), {}, ""});
  block.push_back(std::move(then));
  if (random_.chance(40)) {
    Statement otherwise{"if not (" + c + ") {", {}, "}"};
    in_scope(otherwise.body, 1 + random_.below(2), depth);
    block.push_back(std::move(otherwise));
  }
}

void Writer::loop(Block& block, int depth) {
  const std::string i = fresh("i"), t = fresh("t");
  const std::string xs = variable(Kind::Tensors).text, ks = variable(Kind::Ints).text;
  const Typed item{t, Kind::Tensor, {3, 3}};
  const Typed counter{i, Kind::Int};
  std::vector<Typed> declared;
  Statement made{"", {}, "}"};
  switch (random_.below(9)) {
    case 0:
    case 1:
      made.head =
          fmt::format("for {} in range({}) {{", i, pick({"2", "3", fmt::format("min(4, {})", integer(1))}));
      declared = {counter};
      break;
    case 2:
      made.head = fmt::format("for {} in {} {{", t, xs + (random_.chance(50) ? ".copy()[:8]" : "[0:4]"));
      declared = {item};
      break;
    case 3:
      made.head = fmt::format("for {}, {} in enumerate({}) {{", i, t, xs + "[0:4]");
      declared = {counter, item};
      break;
    case 4:
      made.head = fmt::format("for {}, {} in zip({}, {}) {{", i, t, ks + "[0:4]", xs);
      declared = {counter, item};
      break;
    case 5:
      made.head = fmt::format("for {} in {} {{", i, ks + "[0:4]");
      declared = {counter};
      break;
    case 6:
      made.head = fmt::format("for {}, {} in list({}.items()) {{", fresh("k"), t, variable(Kind::Dict).text);
      break;
    case 7: {
      const std::vector<Typed> all = variables(Kind::Tensor);
      made.head =
          fmt::format("for {} in {} {{", t, all.empty() ? "ones(2, 3)" : random_.pick(all).text + "[0:3]");
      declared = {{t, Kind::Tensor, {3}}};
      break;
    }
    default:
      block.push_back({i + " = 0", {}, ""});
      made.head = fmt::format("while {} < {} {{", i, pick({"2", "3"}));
      made.body.push_back({i + " += 1", {}, ""});
      break;
  }
  const std::vector<Typed> before = scope_;
  for (Typed& each : declared) declare(std::move(each));
  ++loops_;
  statements(made.body, 1 + random_.below(3), depth);
  --loops_;
  scope_ = before;
  block.push_back(std::move(made));
}

void Writer::attempt(Block& block, int depth) {
  const std::string e = fresh("e");
  Statement tried{"try {", {}, "}"};
  in_scope(tried.body, 1 + random_.below(2), depth);
  const std::string x = tensor_variable().text;
  tried.body.push_back(
      {pick({"throw \"stop\"", "int(\"x\")", x + " + ones(7, 5)", "[1][4]", "assert " + condition(0),
             "if " + condition(0) + " { throw \"now\" }", "undefined_name"}),
       {},
       ""});
  if (random_.chance(30)) in_scope(tried.body, 1, depth);
  block.push_back(std::move(tried));
  Statement caught{"catch " + e + " {", {}, "}"};
  caught.body.push_back({fmt::format("print({}.kind, {}.message, {}.line)", e, e, e), {}, ""});
  in_scope(caught.body, random_.below(2), depth);
  block.push_back(std::move(caught));
}

void Writer::scope(Block& block, int depth) {
  Statement made{"with " + pick({"no_grad()", "no_grad()", "enable_grad()", "seed(3)"}) + " {", {}, "}"};
  in_scope(made.body, 1 + random_.below(2), depth);
  block.push_back(std::move(made));
}

}  // namespace kiln::testing

#include "repl/op_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "interpreter/values/objects.h"
#include "repl/documentation.h"
#include "tensor/backend.h"
#include "tensor/cuda/kernel_headers.h"
#include "tensor/op_names.h"
#include "tensor/ops/pointwise.h"

namespace kiln::repl {
namespace {

// What an elementwise row is written with. A derivative is "(expression, reads)", one for each operand.
struct RowSource {
  std::string_view body;
  std::array<std::string_view, 3> derivatives;
};
#define KILN_UNARY(name, parameters, rule, body, guard, dx, ...) {#body, {#dx, "", ""}},
#define KILN_BINARY(name, parameters, rule, body, guard, da, db, ...) {#body, {#da, #db, ""}},
#define KILN_TERNARY(name, parameters, rule, body, mask, da, db, dc, ...) {#body, {#da, #db, #dc}},
constexpr RowSource kRows[] = {
#include "tensor/ops/elementwise.def"
};
#undef KILN_UNARY
#undef KILN_BINARY
#undef KILN_TERNARY

// ---- The function of one element ----

std::size_t end_of_function(std::string_view text, std::size_t begin) {
  int depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i + 1;
  }
  return text.size();
}

std::size_t line_before(std::string_view text, std::size_t line) {
  return line == 0 ? 0 : text.rfind('\n', line - 2) + 1;
}

// The definition in the text that begins in the line at `begin`, with its `template` line; the macro before
// it says where it may run, and nothing of what it computes.
std::string definition_at(std::string_view text, std::size_t begin) {
  constexpr std::string_view kMacro = "KILN_MATH ";
  const std::size_t before = line_before(text, begin);
  const std::string_view head =
      text.substr(before).starts_with("template") ? text.substr(before, begin - before) : "";
  const std::string_view body = text.substr(begin, end_of_function(text, begin) - begin);
  return std::string(head) + std::string(body.substr(kMacro.size()));
}

// The first definition of `math::name` that is for floats.
std::optional<std::string> function_text(std::string_view name) {
  const std::string call = fmt::format(" {}(", name);
  for (std::size_t k = 0; k < cuda::kKernelHeaderCount; ++k) {
    const std::string_view text = cuda::kKernelHeaders[k].text;
    for (std::size_t at = text.find(call); at != std::string_view::npos; at = text.find(call, at + 1)) {
      const std::size_t line = text.rfind('\n', at) + 1;
      const std::string_view parameter = text.substr(at + call.size());
      const bool of_floats = parameter.starts_with("T ") || parameter.starts_with("float ");
      if (text.substr(line).starts_with("KILN_MATH ") && of_floats) return definition_at(text, line);
    }
  }
  return std::nullopt;
}

// The names behind each `math::` of a body.
std::vector<std::string_view> functions_in(std::string_view body) {
  constexpr std::string_view kMark = "math::";
  std::vector<std::string_view> names;
  for (std::size_t at = body.find(kMark); at != std::string_view::npos; at = body.find(kMark, at + 1)) {
    const std::string_view rest = body.substr(at + kMark.size());
    const std::string_view name =
        rest.substr(0, rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::string indented(std::string_view text) {
  std::string all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    all += fmt::format("    {}\n", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

// ---- Derivatives ----

std::string_view operand_name(int operands, int i) {
  if (operands == 1) return "x";
  return std::array<std::string_view, 3>{"a", "b", "c"}[static_cast<std::size_t>(i)];
}

std::string elementwise_text(const Op& op) {
  const RowSource& row = kRows[op.pointwise->row];
  std::string text = fmt::format("  one element: {}\n", row.body);
  for (const std::string_view each : functions_in(row.body)) {
    if (const auto function = function_text(each)) text += indented(*function);
  }
  for (int i = 0; i < op.pointwise->operands; ++i) {
    const std::string_view pair = row.derivatives[static_cast<std::size_t>(i)];
    const std::string_view expression = pair.substr(1, pair.rfind(", ") - 1);
    text += expression == "none"
                ? fmt::format("  derivative by {}: none\n", operand_name(op.pointwise->operands, i))
                : fmt::format("  derivative by {}, for a gradient g of the result y: {}\n",
                              operand_name(op.pointwise->operands, i), expression);
  }
  return text + "  batching: the operands' batches are put side by side, and the op runs once\n";
}

std::string numbers_of(std::uint32_t bits, std::string_view what) {
  std::string text;
  for (int i = 0; i < 32; ++i) {
    if ((bits >> i & 1U) != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, i);
  }
  return text;
}

// A rule, the reason why there is none, or that the smaller ops have theirs.
template <class F>
std::string rule_text(std::string_view name, const Rule<F>& rule, std::string_view what) {
  if (rule) return fmt::format("  {}: {}\n", name, what);
  return fmt::format("  {}: {}\n", name,
                     rule.missing == kComposite ? "that of the smaller ops of its body"
                                                : "none, " + std::string(rule.missing));
}

std::string rules_text(const Op& op) {
  std::string reads = numbers_of(op.saves.inputs, "input");
  if (const std::string outputs = numbers_of(op.saves.outputs, "result"); !outputs.empty())
    reads += (reads.empty() ? "" : ", ") + outputs;
  return rule_text("derivative", op.vjp,
                   reads.empty() ? "a rule that reads nothing of the call" : "a rule that reads " + reads) +
         rule_text("forward derivative", op.jvp, "a rule of its own") +
         rule_text("batching", op.batch, "a rule of its own");
}

std::string_view compiled_as(const Op& op) {
  switch (static_cast<Lowering::Kind>(op.lowering)) {
    case Lowering::Pointwise:
      return "one expression in the loop of a kernel, beside its neighbours";
    case Lowering::Reduce:
      return "a reduction in a fixed order, in the kernel of its rows";
    case Lowering::View:
      return "no code: whatever reads the view reads through it";
    case Lowering::Library:
      return "a call of a kernel or library";
    case Lowering::Gather:
      return "loads at computed places";
    case Lowering::Scatter:
      return "stores at computed places";
    case Lowering::Create:
      return "elements that are made, not read";
    case Lowering::Collective:
      return "a call that waits for other processes, in the same order as written";
    case Lowering::Composite:
      return "the smaller ops of its body: `:pass decompose f(x)` shows them";
  }
  return "";
}

}  // namespace

std::string row_text(const Op& op) {
  std::string text = fmt::format("row `{}` of the op table\n", op.name());
  text += op.pointwise != nullptr ? elementwise_text(op) : rules_text(op);
  const std::string_view computed = has_kernel(op)            ? "a kernel of the CPU"
                                    : op.view != nullptr      ? "a view: only the layout is computed"
                                    : op.decompose != nullptr ? "its body over smaller ops"
                                                              : "none on the CPU";
  text += fmt::format("  computed by: {}\n  compiled as: {}\n", computed, compiled_as(op));
  return text;
}

std::string rows_of(const interp::Value& function) {
  std::string text;
  if (!function.is(interp::Tag::Native)) return text;
  for (const Op* op : ops_named(own_name(function.as<interp::Native>().name))) text += row_text(*op);
  return text;
}

}  // namespace kiln::repl

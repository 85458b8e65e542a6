#include "repl/difference_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "interpreter/interpreter.h"
#include "interpreter/values/graph_value.h"
#include "jit/graph/diff.h"
#include "jit/graph/text.h"
#include "jit/loops/code_line.h"
#include "jit/loops/kernel_op.h"
#include "repl/graph_view.h"
#include "repl/lines.h"
#include "repl/terminal.h"

namespace kiln::repl {

std::string changes_in(const std::string& difference) {
  constexpr std::size_t kAround = 2;
  constexpr std::size_t kFewest = 4;  // lines that are worth a line instead
  const jit::CodeLines lines = jit::lines_of(difference);
  std::vector<bool> shown(lines.size(), false);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].text.starts_with(' ')) continue;
    const std::size_t first = i - std::min(i, kAround), end = std::min(lines.size(), i + kAround + 1);
    std::fill(shown.begin() + static_cast<std::ptrdiff_t>(first),
              shown.begin() + static_cast<std::ptrdiff_t>(end), true);
  }
  std::string text, skipped;
  std::size_t count = 0;
  for (std::size_t i = 0; i <= lines.size(); ++i) {
    if (i < lines.size() && !shown[i]) {
      skipped += lines[i].text + "\n";
      ++count;
      continue;
    }
    text += count < kFewest ? skipped : fmt::format("… {} lines\n", count);
    skipped.clear();
    count = 0;
    if (i < lines.size()) text += lines[i].text + "\n";
  }
  return text;
}

namespace {

// Above changed lines the line of the program that they come from.
std::string difference_view(Session& session, const std::string& difference) {
  const std::string changes = changes_in(difference);
  std::string view;
  std::pair<std::string, int> last;
  for (const std::string_view line : lines_of(changes)) {
    const bool is_removed = line[0] == '-', is_added = line[0] == '+';
    const std::size_t comment = std::min(line.find("  # "), line.find("; "));
    if ((is_removed || is_added) && comment != std::string_view::npos) {
      const std::pair<std::string, int> place = place_at_end(line.substr(comment));
      const std::string source = place == last ? "" : source_line(session, place.first, place.second);
      if (!source.empty()) {
        const std::string note = fmt::format("  # {}:{} | {}", place.first, place.second, source);
        view += paint(note, style::kCode, session.color()) + "\n";
        last = place;
      }
    }
    const std::string_view style = is_removed ? style::kRemoved : is_added ? style::kAdded : "";
    view += paint(line, style, session.color()) + "\n";
  }
  return view;
}

// The nodes that a kernel computes, with its own numbers for their values: equal for kernels that compute
// the same in the same order.
std::string kernel_text(const jit::FusedKernel& kernel) {
  std::vector<std::string> names(kernel.source->values.size());
  int count = 0;
  const auto name = [&](jit::ValueId id) -> const std::string& {
    std::string& known = names[static_cast<std::size_t>(id)];
    if (known.empty()) known = fmt::format("%{}", count++);
    return known;
  };
  std::string text;
  for (const int k : kernel.nodes) {
    const jit::Node& node = kernel.source->nodes[static_cast<std::size_t>(k)];
    for (const jit::Operand& each : node.operands) {
      if (each.is_value()) name(each.value);
    }
    for (const jit::ValueId id : node.outputs) name(id);
    text += jit::print_node(*kernel.source, node, names) + "\n";
  }
  for (const jit::ValueId id : kernel.outputs) text += "gives " + name(id) + "\n";
  return text;
}

std::map<const Op*, std::string> kernel_texts(const jit::Graph& a, const jit::Graph& b) {
  std::map<const Op*, std::string> texts;
  for (const jit::Graph* graph : {&a, &b}) {
    if (graph->stage != jit::Stage::Fused) continue;
    for (const jit::FusedKernel& each : jit::kernels_of(*graph)) texts.emplace(each.op, kernel_text(each));
  }
  return texts;
}

}  // namespace

std::string diff_view(Session& session, const jit::Graph& a, const jit::Graph& b) {
  const std::map<const Op*, std::string> kernels = kernel_texts(a, b);
  const std::string text = jit::diff_graphs(a, b, [&](const Op& op) {
    const auto found = kernels.find(&op);
    return found == kernels.end() ? std::string() : found->second;
  });
  if (!text.empty()) return difference_view(session, text);
  return jit::same_text(a, b) ? "the graphs are equal\n"
                              : "the graphs are equal up to renaming and the order of independent nodes\n";
}

std::string stage_diff_view(Session& session, const interp::Value& a, const interp::Value& b,
                            std::string_view stage) {
  if (a.is(interp::Tag::Graph) && b.is(interp::Tag::Graph))
    return diff_view(session, interp::graph_of(a), interp::graph_of(b));
  const auto text_of = [&](const interp::Value& v) { return session.interpreter().str(v); };
  const std::string first = text_of(a), second = text_of(b);
  if (first == second) return "the texts are equal\n";
  const bool is_machine_code = stage == "asm";
  const std::string text =
      jit::diff_texts(first, second, is_machine_code ? jit::Names::Registers : jit::Names::Values);
  if (!text.empty()) return difference_view(session, text);
  return is_machine_code ? "the instructions are equal but for the names of registers and labels\n"
                         : "the texts are equal up to renaming\n";
}

}  // namespace kiln::repl

#include "jit/pipeline/fused_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <set>

#include "jit/graph/lifetimes.h"
#include "jit/graph/text.h"
#include "jit/loops/kernel_op.h"
#include "jit/loops/print_loops.h"
#include "jit/pipeline/fused.h"
#include "jit/runtime/kernel_runs.h"

namespace kiln::jit {
namespace {

constexpr std::string_view kNoKernels = "nothing is fused: every op is a call of its own\n";

const Graph& source_of(const Graph& graph) {
  const std::vector<FusedKernel> kernels = kernels_of(graph);
  return kernels.empty() ? graph : *kernels.front().source;
}

// A graph with writes is not fused.
Graph as_fused(const Graph& graph) {
  const bool is_fusible = graph.is_functional() && graph.stage != Stage::Fused;
  return is_fusible ? outline(graph) : graph;
}

// With the products that kernels take along: those are no edges between them any more.
Fusion fusion_of(const Graph& fused) {
  Fusion fusion = find_groups(source_of(fused));
  const std::vector<KernelNotes> notes = notes_on_runs(fused);
  for (std::size_t k = 0; k < notes.size(); ++k) fusion.groups[k].product = notes[k].product;
  std::erase_if(fusion.unfused, [&fusion](const Unfused& each) {
    const int group = fusion.group_of[static_cast<std::size_t>(each.consumer)];
    return group >= 0 && fusion.groups[static_cast<std::size_t>(group)].product == each.producer;
  });
  return fusion;
}

// The node of the graph that a line of a nest computes; null where there is none.
const Node* node_of(const FusedKernel& kernel, const LoopNest& nest, std::size_t line) {
  const int place = line < nest.body.size() ? nest.body[line].node : -1;
  return place < 0 ? nullptr : &kernel.source->nodes[static_cast<std::size_t>(place)];
}

// The names of the values of the graph that was fused.
using Names = std::vector<std::string>;

// The user's name of a register: of the node that computes it, or the tensor that it is read from.
std::string register_name(const FusedKernel& kernel, const LoopNest& nest, std::size_t line,
                          const Names& names) {
  if (const Node* node = node_of(kernel, nest, line))
    return names[static_cast<std::size_t>(node->outputs[0])];
  const Instruction& step = nest.body[line];
  if (step.kind != Instruction::Kind::Read) return "";
  const int input = nest.loads[static_cast<std::size_t>(step.index)].input;
  if (input < 0) return "";
  return names[static_cast<std::size_t>(kernel.lowered->inputs[static_cast<std::size_t>(input)])];
}

// What a store makes, by the user's name; nothing for what a pass keeps.
std::string stored_name(const FusedKernel& kernel, const LoopNest& nest, std::size_t line,
                        const Names& names) {
  if (line < store_line(nest, 0) || line >= reduction_line(nest, 0)) return "";
  const int output = nest.stores[line - store_line(nest, 0)].output;
  if (output < 0) return "";
  return names[static_cast<std::size_t>(kernel.outputs[static_cast<std::size_t>(output)])];
}

// "%y, demo.kiln:2:9"
std::string about(const FusedKernel& kernel, const LoopNest& nest, std::size_t line, const Names& names) {
  std::string text = line < nest.body.size() ? register_name(kernel, nest, line, names)
                                             : stored_name(kernel, nest, line, names);
  const Node* node = node_of(kernel, nest, line);
  const std::string place = node == nullptr ? "" : place_text(*kernel.source, *node);
  if (!place.empty()) text += ", " + place;
  return text;
}

// How a load or a store gets at its elements, where that is not in place.
std::string access_note(const FusedKernel& kernel, const KernelNotes& notes, std::size_t pass,
                        std::size_t line) {
  const LoopNest& nest = kernel.lowered->passes[pass];
  const auto at = [pass](const std::vector<std::vector<std::string>>& all, std::size_t k) {
    return k < all[pass].size() ? all[pass][k] : std::string();
  };
  if (line < nest.body.size()) {
    const Instruction& step = nest.body[line];
    const bool reads = step.kind == Instruction::Kind::Read;
    return reads ? at(notes.loads, static_cast<std::size_t>(step.index)) : std::string();
  }
  return at(notes.stores, line - store_line(nest, 0));
}

// "%y = mul(%x, %w) : f32[3], demo.kiln:2:9", or what the line is where it is no node.
std::string heading(const FusedKernel& kernel, std::size_t pass, std::size_t line, const Names& names) {
  const LoopNest& nest = kernel.lowered->passes[pass];
  const Node* node = node_of(kernel, nest, line);
  if (node == nullptr) {
    const std::string of = about(kernel, nest, line, names);
    return line_text(*kernel.lowered, *kernel.schedule, pass, line) + (of.empty() ? "" : ", " + of);
  }
  const std::string place = place_text(*kernel.source, *node);
  return print_node(*kernel.source, *node, names) + (place.empty() ? "" : "  # " + place);
}

// A pass of a kernel; each becomes a function.
struct Pass {
  const FusedKernel* kernel;
  std::size_t number;
  const LoopNest& nest() const { return kernel->lowered->passes[number]; }
};
std::vector<Pass> passes_of(const std::vector<FusedKernel>& kernels) {
  std::vector<Pass> passes;
  for (const FusedKernel& each : kernels) {
    for (std::size_t k = 0; k < each.lowered->passes.size(); ++k) passes.push_back({&each, k});
  }
  return passes;
}

std::string title(const Pass& pass) {
  const std::size_t count = pass.kernel->lowered->passes.size();
  return pass.nest().name + (count == 1 ? "" : fmt::format(", pass {} of {}", pass.number + 1, count));
}

// "x, x, x" or "x,x,x": x; empty for items that differ, or one alone.
std::string_view repeated_item(std::string_view list) {
  const std::string_view first = list.substr(0, list.find(','));
  if (first.size() == list.size()) return {};
  for (std::string_view rest = list.substr(first.size()); !rest.empty();) {
    rest.remove_prefix(rest.starts_with(", ") ? 2 : 1);
    if (rest.substr(0, rest.find(',')) != first) return {};
    rest.remove_prefix(first.size());
  }
  return first;
}

// One element for all of a vector: "<float 1.0, float 1.0, …>" as "splat (float 1.0)", as LLVM reads it too,
// and "[1.0,1.0,…]" of the assembler's comments as "[1.0, …]".
std::string with_splats(std::string_view line) {
  std::string result;
  while (!line.empty()) {
    const std::size_t open = std::min(line.find_first_of("<["), line.size());
    result += line.substr(0, open);
    line.remove_prefix(open);
    if (line.empty()) break;
    const bool is_code = line.front() == '<';
    const std::size_t close = line.find(is_code ? '>' : ']');
    const std::string_view item =
        close == std::string_view::npos ? std::string_view() : repeated_item(line.substr(1, close - 1));
    if (item.empty()) {
      result += line.front();
      line.remove_prefix(1);
    } else {
      result += is_code ? fmt::format("splat ({})", item) : fmt::format("[{}, …]", item);
      line.remove_prefix(close + 1);
    }
  }
  return result;
}

// The nodes that use a register of a nest.
std::vector<int> users_of(const LoopNest& nest, Register r) {
  std::vector<int> users;
  for (std::size_t line = 0; line < nest.body.size(); ++line) {
    const Instruction& each = nest.body[line];
    if (std::ranges::find(each.operands, r) == each.operands.end()) continue;
    const std::vector<int> of =
        each.node >= 0 ? std::vector{each.node} : users_of(nest, static_cast<Register>(line));
    users.insert(users.end(), of.begin(), of.end());
  }
  for (const std::vector<Reduction>* const all : {&nest.reductions, &nest.columns}) {
    for (const Reduction& each : *all) {
      if (each.value == r) users.push_back(each.node);
    }
  }
  return users;
}

// The nodes of the kernel's source that a line is there for: the one that it computes, those that use what it
// loads, or the one whose value it stores.
std::vector<int> nodes_of(const FusedKernel& kernel, std::size_t pass, std::size_t line) {
  const LoopNest& nest = kernel.lowered->passes[pass];
  if (line >= column_line(nest, 0)) return {nest.columns[line - column_line(nest, 0)].node};
  if (line >= reduction_line(nest, 0)) return {nest.reductions[line - reduction_line(nest, 0)].node};
  const bool is_store = line >= store_line(nest, 0);
  if (is_store) {
    const Store& store = nest.stores[line - store_line(nest, 0)];
    if (store.output >= 0) {
      const ValueId id = kernel.outputs[static_cast<std::size_t>(store.output)];
      const int made = kernel.source->producers()[static_cast<std::size_t>(id)];
      if (made >= 0) return {made};
    }
    line = static_cast<std::size_t>(store.value);
  }
  if (nest.body[line].node >= 0) return {nest.body[line].node};
  return users_of(nest, static_cast<Register>(line));
}

// The functions of the passes, by what their first lines say: "kernel3:", "define void @kernel3(…)", "… void
// kernel3(…)".
class Functions {
 public:
  explicit Functions(std::size_t passes) {
    for (std::size_t k = 0; k < passes; ++k) passes_.emplace(kernel_symbol(k), k);
  }
  // The pass whose function begins on a line.
  std::optional<std::size_t> begun_on(std::string_view line) const {
    if (const auto colon = line.find(':'); colon != std::string_view::npos) {
      if (const auto pass = pass_of(line.substr(0, colon))) return pass;
    }
    for (auto open = line.find('('); open != std::string_view::npos; open = line.find('(', open + 1)) {
      const std::string_view before = line.substr(0, open);
      const std::size_t blank = before.find_last_of(" @");
      if (blank == std::string_view::npos) continue;
      if (const auto pass = pass_of(before.substr(blank + 1))) return pass;
    }
    return std::nullopt;
  }

 private:
  std::optional<std::size_t> pass_of(std::string_view symbol) const {
    const auto found = passes_.find(symbol);
    return found == passes_.end() ? std::nullopt : std::optional(found->second);
  }
  std::map<std::string, std::size_t, std::less<>> passes_;
};

// Puts what marks stand for in their place, and a heading before each function.
CodeLines annotated(std::string_view text, const std::vector<Pass>& passes, std::string_view comment,
                    const FusedKernel* first, const Names& names) {
  const Functions functions(passes.size());
  CodeLines result;
  std::size_t pass = 0;
  int about = -1;  // the line of the nest; -1: what is there for the kernel as a whole
  const auto add = [&](std::string line) {
    CodeLine& made = result.emplace_back();
    made.text = std::move(line);
    made.kernel = static_cast<int>(passes[pass].kernel - first);
    made.pass = static_cast<int>(passes[pass].number);
    made.line = about;
    if (about >= 0)
      made.nodes = nodes_of(*passes[pass].kernel, passes[pass].number, static_cast<std::size_t>(about));
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (const auto begun = functions.begun_on(line)) {
      pass = *begun;
      about = -1;
      add(fmt::format("{} {}", comment, title(passes[pass])));
    }
    if (!line.starts_with(kMark)) {
      add(with_splats(line));
      continue;
    }
    std::size_t number = 0;
    std::from_chars(line.data() + 1, line.data() + line.size(), number);
    about = static_cast<int>(number);
    const std::size_t indent = std::max<std::size_t>(2, std::min(text.find_first_not_of(' '), text.size()));
    add(fmt::format("{:{}}{} {}", "", indent, comment,
                    heading(*passes[pass].kernel, passes[pass].number, number, names)));
  }
  return result;
}

}  // namespace

std::string FusedGraph::fusion() const { return fusion_text(graph); }

std::vector<std::string> FusedGraph::loops() const {
  std::vector<std::string> all;
  for (const FusedKernel& each : kernels_of(graph))
    all.push_back(text_of(loop_lines(*each.lowered, *each.schedule)));
  return all;
}

CodeLines fusion_lines(const Graph& graph) {
  const Graph fused = as_fused(graph);
  return fusion_lines(source_of(fused), fusion_of(fused));
}
std::string fusion_text(const Graph& graph) { return text_of(fusion_lines(graph)); }

std::vector<std::string> why_not_fused(const Graph& graph) {
  const Graph fused = as_fused(graph);
  const Graph& source = source_of(fused);
  const std::vector<std::string> names = value_names(source);
  const auto name_of = [&](int node) {
    return names[static_cast<std::size_t>(source.nodes[static_cast<std::size_t>(node)].outputs[0])];
  };
  std::vector<std::string> sentences;
  for (const Unfused& each : fusion_of(fused).unfused) {
    const std::string place = place_text(source, source.nodes[static_cast<std::size_t>(each.consumer)]);
    sentences.push_back(fmt::format("{} and {} are not one kernel: {}{}", name_of(each.producer),
                                    name_of(each.consumer), each.reason,
                                    place.empty() ? "" : fmt::format(" ({})", place)));
  }
  return sentences;
}

CodeLines loops_lines(const Graph& fused) {
  CodeLines lines;
  const std::vector<KernelNotes> notes = notes_on_runs(fused);
  const std::vector<FusedKernel> kernels = kernels_of(fused);
  const Names names = value_names(source_of(fused));
  for (const FusedKernel& kernel : kernels) {
    const KernelNotes& known = notes[static_cast<std::size_t>(&kernel - kernels.data())];
    const auto comment = [&](std::size_t pass, std::size_t line) {
      const std::string who = about(kernel, kernel.lowered->passes[pass], line, names);
      const std::string how = access_note(kernel, known, pass, line);
      return who + (who.empty() || how.empty() ? "" : ", ") + how;
    };
    for (CodeLine& each : loop_lines(*kernel.lowered, *kernel.schedule, comment, known.shared)) {
      each.kernel = static_cast<int>(&kernel - kernels.data());
      if (each.line >= 0)
        each.nodes =
            nodes_of(kernel, static_cast<std::size_t>(each.pass), static_cast<std::size_t>(each.line));
      lines.push_back(std::move(each));
    }
  }
  if (lines.empty()) return lines_of(kNoKernels);
  lines.push_back({.text = fmt::format("at most {} B of tensors at once beside the arguments",
                                       Lifetimes(fused).peak_bytes())});
  return lines;
}

CodeLines code_lines(const Graph& fused, Product product, std::optional<Device::Kind> kind) {
  const std::vector<FusedKernel> kernels = kernels_of(fused);
  if (kernels.empty()) return lines_of(kNoKernels);
  const Names names = value_names(*kernels.front().source);
  CodeLines lines;
  for (const Target* const target : targets_of(fused)) {
    if (kind && target->name != kiln::name(*kind)) continue;
    std::vector<Pass> passes;
    std::vector<ScheduledNest> nests;
    LineNames line_names;
    for (const Pass& pass : passes_of(kernels)) {
      if (pass.kernel->target != target) continue;
      passes.push_back(pass);
      nests.push_back({&pass.nest(), &pass.kernel->schedule->nests[pass.number]});
      std::vector<std::string>& own = line_names.emplace_back();
      for (std::size_t line = 0; line < pass.nest().body.size(); ++line) {
        std::string name = register_name(*pass.kernel, pass.nest(), line, names);
        own.push_back(name.empty() ? name : name.substr(1));  // without the `%`, which LLVM writes itself
      }
    }
    const std::string_view comment =
        product == Product::Source ? target->source_comment : target->assembly_comment;
    std::ranges::move(
        annotated(target->emit(nests, product, line_names), passes, comment, kernels.data(), names),
        std::back_inserter(lines));
  }
  return lines;
}

std::size_t code_bytes(const Graph& fused) {
  std::set<const Codes*> codes;
  for (const FusedKernel& each : kernels_of(fused)) {
    if (each.code != nullptr) codes.insert(each.code);
  }
  std::size_t bytes = 0;
  for (const Codes* const code : codes) {
    for (const auto& each : *code) bytes += each->bytes();
  }
  return bytes;
}

}  // namespace kiln::jit

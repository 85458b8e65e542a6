#include "jit/pipeline/fused_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "jit/graph/collectives.h"
#include "jit/graph/lifetimes.h"
#include "jit/graph/text.h"
#include "jit/loops/kernel_op.h"
#include "jit/loops/print_loops.h"
#include "jit/pipeline/fused.h"
#include "jit/pipeline/kernel_words.h"
#include "jit/runtime/kernel_runs.h"

namespace kiln::jit {
namespace {

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
std::string fusion_text(const Graph& graph) {
  CodeLines lines = fusion_lines(graph);
  for (const CollectiveNote& each : collective_notes(as_fused(graph))) lines.push_back({.text = each.text});
  return text_of(lines);
}

std::vector<std::string> why_not_fused(const Graph& graph) {
  const Graph fused = as_fused(graph);
  const Graph& source = source_of(fused);
  const std::vector<std::string> names = value_names(source);
  const auto name_of = [&](int node) {
    return names[static_cast<std::size_t>(source.nodes[static_cast<std::size_t>(node)].outputs[0])];
  };
  std::vector<std::string> sentences = source.notes;
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
  const ValueNames names = value_names(source_of(fused));
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
  if (lines.empty()) return lines_of(kNothingFused);
  lines.push_back({.text = fmt::format("at most {} B of tensors at once beside the arguments",
                                       Lifetimes(fused).peak_bytes())});
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

#include <algorithm>

#include "jit/graph/collectives.h"
#include "jit/loops/kernel_op.h"
#include "jit/pipeline/fused_text.h"
#include "repl/page/links.h"
#include "repl/page/tables.h"
#include "tensor/integers.h"

namespace kiln::repl {
namespace {

LineId next(const PageTable& table) { return table.first + static_cast<LineId>(table.lines.size()); }

// Lines that are of a kernel as a whole, or of one of its passes, are about all lines of that.
void link_wholes(PageTable& table, const jit::CodeLines& lines) {
  std::map<int, std::vector<std::size_t>> parts;  // by kernel
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].line >= 0) parts[lines[i].kernel].push_back(i);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].kernel < 0 || lines[i].line >= 0) continue;
    for (const std::size_t k : parts[lines[i].kernel]) {
      const bool is_part = lines[i].pass < 0 || lines[i].pass == lines[k].pass;
      if (is_part) table.lines[i].of.push_back(table.first + static_cast<LineId>(k));
    }
  }
}

std::vector<const jit::Node*> nodes_of_kernels(const jit::Graph& fused,
                                               const std::vector<jit::FusedKernel>& kernels) {
  std::vector<const jit::Node*> nodes;
  for (const jit::FusedKernel& each : kernels)
    nodes.push_back(&*std::ranges::find(fused.nodes, each.op, &jit::Node::op));
  return nodes;
}

// Do the nodes within kernels come from what the kernels come from? Not so where the graph was given as it
// is, fused: then its own nodes were numbered, and those within are of another graph.
bool has_lineage_of_members(const std::vector<jit::FusedKernel>& kernels,
                            const std::vector<const jit::Node*>& nodes) {
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const std::span<const int> whole = nodes[k]->place.lineage.nodes();
    for (const int member : kernels[k].nodes) {
      const jit::Node& node = kernels[k].source->nodes[as_index(member)];
      if (!std::ranges::includes(whole, node.place.lineage.nodes())) return false;
    }
  }
  return true;
}

}  // namespace

Ancestry add_fused(CallPage& page, const std::string& title, const jit::Graph& fused, const Ancestry& from) {
  const Ancestry nodes = add_graph(page, "fused", title, fused, from);
  PageTable& table = page.tables.back();
  const std::vector<jit::FusedKernel> kernels = jit::kernels_of(fused);
  const jit::Graph& source = kernels.empty() ? fused : *kernels.front().source;
  const std::vector<const jit::Node*> kernel_nodes = nodes_of_kernels(fused, kernels);
  const bool is_made_here = has_lineage_of_members(kernels, kernel_nodes);
  Ancestry members{nodes.table, NodeLines(source.nodes.size(), -1)};
  std::vector<std::vector<LineId>> of_kernel(kernels.size());
  LineId head = -1;
  for (const jit::CodeLine& each : jit::fusion_lines(fused)) {
    const LineId id = next(table);
    PageLine& line = table.lines.emplace_back();
    line.text = each.text;
    for (const int node : each.nodes) {
      if (is_made_here) add_links(line.from, lines_of_lineage(source.nodes[as_index(node)], from));
    }
    if (each.kernel < 0) continue;
    if (each.nodes.empty()) {
      head = id;
      continue;
    }
    if (!is_made_here) line.from = lines_of_lineage(*kernel_nodes[as_index(each.kernel)], from);
    members.lines[as_index(each.nodes[0])] = id;
    table.lines[as_index(head - table.first)].of.push_back(id);
    of_kernel[as_index(each.kernel)].push_back(id);
  }
  for (const jit::CollectiveNote& each : jit::collective_notes(fused)) {
    PageLine& line = table.lines.emplace_back();
    line.text = each.text;
    for (const int node : {each.start, each.wait}) {
      if (node < 0) continue;
      add_link(line.of, nodes.lines[as_index(node)]);
      add_links(line.from, lines_of_lineage(fused.nodes[as_index(node)], from));
    }
  }
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const auto node = static_cast<std::size_t>(kernel_nodes[k] - fused.nodes.data());
    table.lines[as_index(nodes.lines[node] - table.first)].of = of_kernel[k];
  }
  return members;
}

LoopsTable add_loops(CallPage& page, const std::string& title, const jit::CodeLines& lines,
                     const Ancestry& fused) {
  PageTable& table = add_table(page, "loops", title, fused.table);
  LoopsTable loops{static_cast<int>(page.tables.size()) - 1};
  for (const jit::CodeLine& each : lines) {
    if (each.kernel >= 0) loops.lines.try_emplace({each.kernel, each.pass, each.line}, next(table));
    PageLine& line = table.lines.emplace_back();
    line.text = each.text;
    for (const int node : each.nodes) {
      if (fused.lines[as_index(node)] >= 0) add_link(line.from, fused.lines[as_index(node)]);
    }
  }
  link_wholes(table, lines);
  return loops;
}

void add_code(CallPage& page, std::string_view stage, const std::string& title, const jit::CodeLines& lines,
              const LoopsTable& loops) {
  PageTable& table = add_table(page, stage, title, loops.table);
  for (const jit::CodeLine& each : lines) {
    PageLine& line = table.lines.emplace_back();
    line.text = each.text;
    if (each.kernel < 0) continue;
    // What is there for a pass as a whole comes from its loop, or else from the head of the kernel.
    for (const auto& [pass, number] : {std::pair{each.pass, each.line}, {each.pass, -1}, {-1, -1}}) {
      const auto found = loops.lines.find({each.kernel, pass, number});
      if (found == loops.lines.end()) continue;
      line.from = {found->second};
      break;
    }
  }
}

void add_code_of_nodes(CallPage& page, std::string_view stage, const std::string& title,
                       const jit::CodeLines& lines, const jit::Graph& fused, const Ancestry& from) {
  PageTable& table = add_table(page, stage, title, from.table);
  const std::vector<jit::FusedKernel> kernels = jit::kernels_of(fused);
  for (const jit::CodeLine& each : lines) {
    PageLine& line = table.lines.emplace_back();
    line.text = each.text;
    for (const int node : each.nodes)
      add_links(line.from, lines_of_lineage(kernels.front().source->nodes[as_index(node)], from));
  }
  link_wholes(table, lines);
}

void add_program(CallPage& page, const std::string& title, const jit::CodeLines& lines,
                 const jit::Graph& graph, const Ancestry& from) {
  PageTable& table = add_table(page, "program", title, from.table);
  for (const jit::CodeLine& each : lines) {
    PageLine& line = table.lines.emplace_back();
    line.text = each.text;
    for (const int node : each.nodes) line.from = lines_of_lineage(graph.nodes[as_index(node)], from);
  }
}

}  // namespace kiln::repl

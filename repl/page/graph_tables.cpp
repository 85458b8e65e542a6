#include <algorithm>
#include <map>

#include "jit/graph/collectives.h"
#include "jit/graph/text.h"
#include "repl/page/links.h"
#include "repl/page/tables.h"
#include "tensor/integers.h"

namespace kiln::repl {
namespace {

// A signature that is long, with a line for each input: "graph joint f(" and "%x: f32[2]," and ") {".
constexpr std::size_t kLongSignature = 100;
std::vector<std::string> signature_lines(std::string_view text) {
  const std::size_t open = text.find('(');
  if (text.size() <= kLongSignature || open == std::string_view::npos) return {std::string(text)};
  std::vector<std::string> lines{std::string(text.substr(0, open + 1))};
  int depth = 0;
  std::size_t begin = open + 1, i = begin;
  for (; i < text.size() && depth >= 0; ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] == ')' || text[i] == ']') --depth;
    if (depth > 0 || (text[i] != ',' && depth == 0)) continue;
    if (depth < 0) break;
    lines.push_back("    " + std::string(text.substr(begin, i + 1 - begin)));
    begin = i + 2;  // behind the blank
  }
  lines.push_back("    " + std::string(text.substr(begin, i - begin)));
  lines.push_back(std::string(text.substr(i)));
  return lines;
}

class GraphTable {
 public:
  GraphTable(PageTable& table, const jit::Graph& graph)
      : table_(table), graph_(graph), names_(jit::value_names(graph)), producers_(graph.producers()) {}

  // Gives the lines of the nodes, which stand behind the bodies of custom functions and the signature.
  NodeLines run() {
    const jit::CodeLines lines = jit::lines_of(jit::print_graph(graph_));
    const std::size_t behind =
        1 + graph_.effects.size() + graph_.saved_sizes.size() + graph_.saved.size() + 1;
    const std::size_t signature = lines.size() - behind - graph_.nodes.size() - 1;
    for (std::size_t i = 0; i < signature; ++i) add(lines[i].text);
    const LineId inputs = next();
    for (const std::string& each : signature_lines(lines[signature].text)) add(each);
    const bool is_split = next() - inputs > 1;
    NodeLines of_nodes;
    for (std::size_t i = signature + 1; i < lines.size(); ++i) {
      if (of_nodes.size() < graph_.nodes.size()) of_nodes.push_back(next());
      add(lines[i].text);
    }
    if (is_split) link_inputs(inputs + 1, of_nodes);
    link_results(of_nodes);
    drawn(of_nodes);
    return of_nodes;
  }

 private:
  LineId next() const { return table_.first + static_cast<LineId>(table_.lines.size()); }
  void add(std::string text) { table_.lines.push_back({std::move(text), {}, {}}); }
  PageLine& line(LineId id) { return table_.lines[as_index(id - table_.first)]; }

  static bool reads(const jit::Node& node, jit::ValueId id) {
    return std::ranges::any_of(node.operands, [id](const jit::Operand& each) { return each.value == id; });
  }
  // An input is about the nodes that read it.
  void link_inputs(LineId first, const NodeLines& of_nodes) {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const jit::Operand& each : graph_.nodes[n].operands) {
        if (each.is_value() && graph_.is_input(each.value))
          add_link(line(first + each.value).of, of_nodes[n]);
      }
    }
  }
  // What is returned, written and saved is about the nodes that make it, or read it where it is an input.
  void link_results(const NodeLines& of_nodes) {
    const auto link = [&](LineId to, jit::ValueId id) {
      if (id >= 0 && producers_[as_index(id)] >= 0)
        add_link(line(to).of, of_nodes[as_index(producers_[as_index(id)])]);
      for (std::size_t n = 0; graph_.is_input(id) && n < graph_.nodes.size(); ++n) {
        if (reads(graph_.nodes[n], id)) add_link(line(to).of, of_nodes[n]);
      }
    };
    LineId to = next() - 2;  // before the bracket
    for (std::size_t k = graph_.saved.size(); k-- > 0;) link(to--, graph_.saved[k]);
    to -= static_cast<LineId>(graph_.saved_sizes.size());
    for (std::size_t k = graph_.effects.size(); k-- > 0;) link(to--, graph_.effects[k].value);
    for (const jit::Operand& each : graph_.outputs) {
      if (each.is_value()) link(to, each.value);
    }
  }

  void drawn(const NodeLines& of_nodes) {
    std::map<std::string, int> by_result;
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i)
      table_.inputs.push_back(
          {names_[i], std::string(jit::name(graph_.inputs[i].role)), jit::to_string(graph_.values[i].type)});
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const jit::Node& node = graph_.nodes[n];
      PageNode& made = table_.nodes.emplace_back();
      made.line = of_nodes[n];
      made.op = jit::op_text(node);
      made.communicates = jit::communicates(node);
      const auto found = by_result.find("%" + node.origin);
      if (found != by_result.end()) made.origin = found->second;
      for (const jit::ValueId id : node.outputs) {
        made.results.push_back(names_[as_index(id)]);
        by_result[names_[as_index(id)]] = static_cast<int>(n);
      }
      for (const jit::Operand& each : node.operands) {
        if (!each.is_value()) continue;
        const int producer = producers_[as_index(each.value)];
        made.operands.push_back(producer >= 0 ? producer : -1 - each.value);
      }
    }
  }

  PageTable& table_;
  const jit::Graph& graph_;
  const std::vector<std::string> names_;
  const std::vector<int> producers_;
};

}  // namespace

PageTable& add_table(CallPage& page, std::string_view stage, std::string title, int parent) {
  const LineId first = page.end();
  PageTable& table = page.tables.emplace_back();
  table.stage = stage;
  table.title = std::move(title);
  table.parent = parent;
  table.first = first;
  return table;
}

std::vector<LineId> lines_of_lineage(const jit::Node& node, const Ancestry& from) {
  std::vector<LineId> lines;
  for (const int each : node.place.lineage.nodes()) {
    if (from.lines[as_index(each)] >= 0) add_link(lines, from.lines[as_index(each)]);
  }
  return lines;
}

Ancestry add_graph(CallPage& page, std::string_view stage, const std::string& title, const jit::Graph& graph,
                   const Ancestry& from) {
  PageTable& table = add_table(page, stage, title, from.table);
  const NodeLines lines = GraphTable(table, graph).run();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    table.lines[as_index(lines[n] - table.first)].from = lines_of_lineage(graph.nodes[n], from);
  return {static_cast<int>(page.tables.size()) - 1, lines};
}

Ancestry add_captured(CallPage& page, const std::string& title, const jit::Graph& graph,
                      const Ancestry& source) {
  PageTable& table = add_table(page, "captured", title, source.table);
  const NodeLines lines = GraphTable(table, graph).run();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (source.lines[n] >= 0) table.lines[as_index(lines[n] - table.first)].from = {source.lines[n]};
  }
  return {static_cast<int>(page.tables.size()) - 1, lines};
}

}  // namespace kiln::repl

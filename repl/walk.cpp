#include "repl/walk.h"

#include <fmt/format.h>

#include "jit/graph/text.h"
#include "repl/command.h"
#include "repl/graph_view.h"
#include "repl/replay.h"
#include "repl/terminal.h"

namespace kiln::repl {

Walk::Walk(const interp::host::CapturedCall& call) {
  for (const interp::CapturedGraph& each : call.parts) {
    if (each.graph.nodes.empty()) continue;
    const std::size_t first = parts_.size();
    std::size_t stop = stops_.size();
    std::vector<ReplayedGraph> replayed =
        replay(each, call.remove, [&](std::size_t graph, const jit::Node&, const Tensors& made) {
          stops_.push_back({first + graph, made});
        });
    for (ReplayedGraph& one : replayed) {
      const std::size_t nodes = one.graph.nodes.size();
      parts_.push_back({std::move(one.graph), stop, {}});
      stop += nodes;
    }
    interp::CapturedGraph& ending = parts_.back().ending;
    ending.break_reason = each.break_reason;
    ending.break_file = each.break_file;
    ending.break_line = each.break_line;
  }
}

bool Walk::go_to(std::size_t stop) {
  if (stop >= stops_.size()) return false;
  at_ = stop;
  return true;
}

std::string Walk::view(Session& session) const {
  const Stop& stop = stops_[at_];
  const Part& part = parts_[stop.part];
  const std::size_t number = at_ - part.first;
  const jit::Node& node = part.graph.nodes[number];
  const std::string text = jit::print_graph(part.graph);
  const std::vector<std::string> names = jit::value_names(part.graph);
  std::string view;
  const auto line = [&](std::string_view what, std::string_view style = "") {
    view += (style.empty() ? std::string(what) : paint(what, style, session.color())) + "\n";
  };
  if (number == 0) line(text.substr(0, text.find('\n')));
  const std::string source = source_line(session, node.place.file.get(), node.place.line);
  if (!source.empty())
    line(fmt::format("  # {}:{} | {}", node.place.file.get(), node.place.line, source), style::kCode);
  const std::string place = jit::place_text(part.graph, node);
  line(fmt::format("{}/{}  {}{}", at_ + 1, stops_.size(), trim(jit::print_node(part.graph, node, names)),
                   place.empty() ? "" : "  # " + place));
  for (std::size_t k = 0; k < stop.results.size(); ++k) {
    if (stop.results.size() > 1) line(names[static_cast<std::size_t>(node.outputs[k])] + ":");
    view += shown(session.interpreter(), interp::Value(stop.results[k]));
  }
  if (number + 1 < part.graph.nodes.size()) return view;
  line(trim(text.substr(text.rfind("\n  return") + 1)));
  return view + break_view(session, part.ending);
}

}  // namespace kiln::repl

#include "repl/walk.h"

#include <fmt/format.h>

#include "interpreter/host/gradient_run.h"
#include "interpreter/values/graph_value.h"
#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "repl/command.h"
#include "repl/graph_view.h"
#include "repl/terminal.h"
#include "tensor/autograd.h"
#include "tensor/generator_scope.h"

namespace kiln::repl {

Walk::Walk(const interp::host::CapturedCall& call) {
  const GradMode off(false);
  const interp::host::StageRow& functional = interp::host::stage_named("functional");
  for (const interp::CapturedGraph& each : call.parts) {
    if (each.graph.nodes.empty()) continue;
    const GeneratorScope as_in_the_call(each.generator);
    if (interp::host::wants_no_gradient(each)) {
      run(interp::graph_of(interp::host::stage_value(functional, each, call.remove)), each.given, each);
    } else {
      run_pair(each);
    }
  }
}

std::vector<Tensor> Walk::run(jit::Graph graph, Inputs arguments, const interp::CapturedGraph& ending) {
  parts_.push_back({jit::at_hints(std::move(graph)), stops_.size(), {}});
  Part& part = parts_.back();
  part.ending.break_reason = ending.break_reason;
  part.ending.break_file = ending.break_file;
  part.ending.break_line = ending.break_line;
  const Tensors results = jit::evaluate(part.graph, arguments, [&](const jit::Node&, const Tensors& made) {
    stops_.push_back({parts_.size() - 1, made});
  });
  return {results.begin(), results.end()};
}

void Walk::run_pair(const interp::CapturedGraph& captured) {
  const jit::Partition pair = interp::host::gradients_of(captured).parts;
  const std::vector<Tensor> made = run(interp::host::with_saved(pair.forward), captured.given, {});
  parts_.back().graph = pair.forward;
  run(pair.backward, interp::host::backward_arguments(pair, captured.given, made), captured);
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

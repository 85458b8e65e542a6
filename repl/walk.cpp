#include "repl/walk.h"

#include <algorithm>
#include <charconv>

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
namespace {

std::string_view without_percent(std::string_view name) {
  if (name.starts_with('%')) name.remove_prefix(1);
  return name;
}

// The line in ":12" or "demo.kiln:12"; nothing in other texts.
struct LinePlace {
  std::string_view file;  // empty: any
  int line = 0;
};
std::optional<LinePlace> line_in(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  LinePlace place{text.substr(0, colon), 0};
  const auto [end, error] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), place.line);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return place;
}

}  // namespace

Walk::Walk(interp::host::CapturedCall call) : call_(std::move(call)) { run(); }

void Walk::run() {
  parts_.clear();
  stops_.clear();
  const GradMode off(false);
  const interp::host::StageRow& functional = interp::host::stage_named("functional");
  for (const interp::CapturedGraph& each : call_.parts) {
    if (each.graph.nodes.empty()) continue;
    const GeneratorScope as_in_the_call(each.generator);
    if (interp::host::wants_no_gradient(each)) {
      run(interp::graph_of(interp::host::stage_value(functional, each, call_.remove)), each.given, each);
    } else {
      run_pair(each);
    }
  }
}

// A node whose value was changed runs as a constant; the graph that is shown stays what it is.
std::vector<Tensor> Walk::run(jit::Graph graph, std::vector<Tensor> arguments,
                              const interp::CapturedGraph& ending) {
  const std::size_t number = parts_.size();
  parts_.push_back({jit::at_hints(std::move(graph)), stops_.size(), {}, {}});
  Part& part = parts_.back();
  part.ending.break_reason = ending.break_reason;
  part.ending.break_file = ending.break_file;
  part.ending.break_line = ending.break_line;
  jit::Graph running = part.graph;
  const std::vector<int> places = running.arguments();
  part.values.resize(running.values.size());
  for (const auto& [where, tensor] : changes_) {
    if (where.first != number) continue;
    const auto id = static_cast<std::size_t>(where.second);
    if (id < running.inputs.size()) {
      arguments[static_cast<std::size_t>(places[id])] = tensor;
      continue;
    }
    jit::Node& node = running.nodes[static_cast<std::size_t>(running.producers()[id])];
    node.op = nullptr;
    node.operands.clear();
    node.attrs.clear();
    node.constant = tensor;
  }
  for (std::size_t i = 0; i < running.inputs.size(); ++i) {
    if (places[i] >= 0) part.values[i] = arguments[static_cast<std::size_t>(places[i])];
  }
  std::size_t next = 0;
  const Tensors results = jit::evaluate(running, arguments, [&](const jit::Node&, const Tensors& made) {
    const jit::Node& node = part.graph.nodes[next++];
    for (std::size_t k = 0; k < made.size(); ++k)
      part.values[static_cast<std::size_t>(node.outputs[k])] = made[k];
    stops_.push_back({number, made});
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

std::optional<std::size_t> Walk::find(std::string_view target, std::size_t from) const {
  const std::optional<LinePlace> line = line_in(target);
  const std::string_view name = without_percent(target);
  for (std::size_t k = from; k < stops_.size(); ++k) {
    const jit::Node& node = node_at(k);
    if (line) {
      const bool in_file = line->file.empty() || node.place.file.get() == line->file;
      if (in_file && node.place.line == line->line) return k;
      continue;
    }
    if (!target.starts_with('%') && !node.is_constant() && jit::op_text(node) == target) return k;
    const std::vector<std::string> names = jit::value_names(graph_at(k));
    const bool gives = std::ranges::any_of(node.outputs, [&](jit::ValueId id) {
      return without_percent(names[static_cast<std::size_t>(id)]) == name;
    });
    if (gives) return k;
  }
  return std::nullopt;
}

// ---- Nodes and values ----

const jit::Node& Walk::node_at(std::size_t stop) const {
  const Part& part = parts_[stops_[stop].part];
  return part.graph.nodes[stop - part.first];
}

std::vector<std::pair<std::string, Tensor>> Walk::operands_at(std::size_t stop) const {
  const Part& part = parts_[stops_[stop].part];
  const std::vector<std::string> names = jit::value_names(part.graph);
  std::vector<std::pair<std::string, Tensor>> operands;
  for (const jit::Operand& each : node_at(stop).operands) {
    if (!each.is_value()) continue;
    const auto id = static_cast<std::size_t>(each.value);
    if (part.values[id]) operands.emplace_back(names[id], part.values[id]);
  }
  return operands;
}

std::vector<std::pair<std::string, Tensor>> Walk::inputs() const {
  std::vector<std::pair<std::string, Tensor>> all;
  if (parts_.empty()) return all;
  const Part& part = parts_.front();
  const std::vector<std::string> names = jit::value_names(part.graph);
  for (std::size_t i = 0; i < part.graph.inputs.size(); ++i) {
    if (part.values[i]) all.emplace_back(names[i], part.values[i]);
  }
  return all;
}

std::optional<jit::ValueId> Walk::named(const Part& part, std::string_view name) const {
  const std::vector<std::string> names = jit::value_names(part.graph);
  const auto found = std::ranges::find_if(
      names, [&](const std::string& each) { return without_percent(each) == without_percent(name); });
  if (found == names.end()) return std::nullopt;
  return static_cast<jit::ValueId>(found - names.begin());
}

const Tensor* Walk::value(std::string_view name) const {
  const Stop& stop = stops_[at_];
  const Part& part = parts_[stop.part];
  const std::optional<jit::ValueId> id = named(part, name);
  if (!id) return nullptr;
  const int producer = part.graph.producers()[static_cast<std::size_t>(*id)];
  if (producer > static_cast<int>(at_ - part.first)) return nullptr;
  const Tensor& found = part.values[static_cast<std::size_t>(*id)];
  return found ? &found : nullptr;
}

void Walk::change(std::string_view name, const Tensor& value) {
  const std::size_t number = stops_[at_].part;
  const Part& part = parts_[number];
  const std::optional<jit::ValueId> id = named(part, name);
  const Tensor* const now = this->value(name);
  if (!id || now == nullptr)
    command_error("NameError", fmt::format("there is no value `{}` up to here", name),
                  "`:step` shows the node with its names");
  if (value.dtype() != now->dtype() || value.sizes() != now->sizes() || value.device() != now->device())
    command_error("TypeError", fmt::format("`{}` is {}, {} was given", name, to_string(now->type()),
                                           to_string(value.type())));
  const int producer = part.graph.producers()[static_cast<std::size_t>(*id)];
  if (producer >= 0 && part.graph.nodes[static_cast<std::size_t>(producer)].outputs.size() > 1)
    command_error("ValueError", fmt::format("`{}` is one of several values that its node gives", name),
                  "change what reads it");
  changes_.insert_or_assign({number, *id}, value);
  run();
}

// ---- Views ----

std::string Walk::heading_at(Session& session, std::size_t stop) const {
  const jit::Graph& graph = graph_at(stop);
  const jit::Node& node = node_at(stop);
  const std::string source = source_line(session, node.place.file.get(), node.place.line);
  std::string text;
  if (!source.empty()) {
    text = paint(fmt::format("  # {}:{} | {}", node.place.file.get(), node.place.line, source), style::kCode,
                 session.color()) +
           "\n";
  }
  const std::string place = jit::place_text(graph, node);
  return text + fmt::format("{}/{}  {}{}\n", stop + 1, stops_.size(),
                            trim(jit::print_node(graph, node, jit::value_names(graph))),
                            place.empty() ? "" : "  # " + place);
}

namespace {

// The line that names the graph. Flow graphs of its loops stand before it.
std::string first_line(const std::string& text) {
  const std::size_t before = text.rfind("\ngraph ");
  const std::size_t start = before == std::string::npos ? 0 : before + 1;
  return text.substr(start, text.find('\n', start) - start);
}

}  // namespace

std::string Walk::view(Session& session) const {
  const Stop& stop = stops_[at_];
  const Part& part = parts_[stop.part];
  const std::size_t number = at_ - part.first;
  const jit::Node& node = part.graph.nodes[number];
  const std::string text = jit::print_graph(part.graph);
  const std::vector<std::string> names = jit::value_names(part.graph);
  std::string view;
  if (number == 0) view += first_line(text) + "\n";
  view += heading_at(session, at_);
  for (std::size_t k = 0; k < stop.results.size(); ++k) {
    if (stop.results.size() > 1) view += names[static_cast<std::size_t>(node.outputs[k])] + ":\n";
    view += shown(session.interpreter(), interp::Value(stop.results[k]));
  }
  if (number + 1 < part.graph.nodes.size()) return view;
  view += std::string(trim(text.substr(text.rfind("\n  return") + 1))) + "\n";
  return view + break_view(session, part.ending);
}

}  // namespace kiln::repl

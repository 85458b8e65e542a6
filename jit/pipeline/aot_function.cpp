#include "jit/pipeline/aot_function.h"

#include <algorithm>

#include <fmt/format.h>

#include "jit/graph/collectives.h"
#include "jit/graph/custom.h"
#include "jit/passes/run_recipe.h"
#include "jit/pipeline/compiled_node.h"
#include "jit/pipeline/fused_text.h"
#include "jit/runtime/prepared.h"
#include "tensor/autograd.h"
#include "tensor/levels/level.h"
#include "tensor/tape/meta.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

bool is_of_type(const Tensor& x, const TensorType& type) {
  return x.dtype() == type.dtype && x.sizes() == type.sizes;
}

// Is there a view, of an argument or of a view of one, that counts elements from the start of the storage?
bool counts_places_of_arguments(const Graph& program) {
  std::vector<bool> shown(program.values.size(), false);
  std::fill_n(shown.begin(), program.inputs.size(), true);
  for (const Node& node : program.nodes) {
    if (node.is_constant() || node.operands.empty() || !node.operands[0].is_value()) continue;
    if (!shown[static_cast<std::size_t>(node.operands[0].value)]) continue;
    if (node.is_view() && node.op->has(kCountsPlaces)) return true;
    if (!node.is_view() && !node.writes()) continue;
    for (const ValueId id : node.outputs) shown[static_cast<std::size_t>(id)] = true;
  }
  return false;
}

[[noreturn]] void refuse(std::string why) { throw OpError(ErrorKind::Capture, std::move(why)); }

}  // namespace

std::shared_ptr<const AotFunction> AotFunction::make(const Graph& captured, const std::vector<bool>& wanted,
                                                     const PairOptions& options) {
  return std::shared_ptr<const AotFunction>(
      new AotFunction(run_recipe(recipes::kViews, captured), wanted, options));
}

AotFunction::AotFunction(const Graph& program, const std::vector<bool>& wanted, const PairOptions& options)
    : derivation_(std::make_shared<const Derivation>(program, wanted)), origins_(ViewOrigins::of(program)) {
  const Graph& functional = derivation_->functional();
  for (const Effect& each : functional.effects) {
    if (each.kind != Effect::Kind::Same) written_.push_back(each.input);
  }
  refuse_what_differs(program);
  // Also results whose history leads to no input.
  for (const Tape::Leaving& each : derivation_->tape().results) {
    if (!derivation_->is_input(each.edge)) ports_.push_back({each.edge, each.result});
  }
  std::vector<Derivation::Incoming> incoming;
  for (auto& [result, each] : derivation_->of_results()) {
    if (!derivation_->is_input(each.edge)) incoming.push_back(std::move(each));
  }
  if (incoming.empty()) refuse("no result has a gradient");
  // A gradient may be asked for between two results that no input has a part in.
  for (const Tape::Leaving& each : derivation_->tape().results) {
    if (!derivation_->reaches_input(each.edge)) incoming.push_back(derivation_->at(each.edge));
  }
  std::vector<Edge> results, bases;
  for (const Port& each : ports_) results.push_back(each.edge);
  const std::vector<int> reached = walk_order(derivation_->tape(), results);
  find_bases();
  for (const Port& each : ports_) {
    if (each.result) continue;
    bases.push_back(each.edge);
    // The values that the base's gradient needs must be kept, too.
    if (std::find(reached.begin(), reached.end(), each.edge.node) == reached.end())
      incoming.push_back(derivation_->at(each.edge));
  }
  backwards_ = std::make_shared<const Backwards>(derivation_, incoming, results, bases, options);
  place_ports();
  Graph forward = backwards_->partition().forward;
  // The saved values become outputs, behind those that the caller gets.
  for (const ValueId id : forward.saved) forward.outputs.push_back(Operand::of(id));
  forward.saved.clear();
  forward.saved_sizes.clear();
  // The compiling thread may run before this object is complete, so the task holds the graph.
  const bool behind = options.fused && custom_ops(forward).empty();
  forward_ =
      pending(behind, [graph = std::make_shared<const Graph>(std::move(forward)),
                       how = PrepareOptions{.fused = options.fused}] { return prepared(*graph, how).run; });
}

void AotFunction::find_bases() {
  for (const Tape::Leaving& each : derivation_->tape().results) {
    if (!each.base || derivation_->is_input(each.base)) continue;
    const bool known =
        std::any_of(ports_.begin(), ports_.end(), [&](const Port& port) { return port.edge == each.base; });
    if (!known) ports_.push_back({each.base, std::nullopt});
  }
}

void AotFunction::place_ports() {
  for (Port& each : ports_) {
    each.node = backwards_->part_of(each.edge.node);
    const std::vector<Edge>& outputs = backwards_->parts()[each.node].outputs;
    each.output =
        static_cast<std::uint32_t>(std::find(outputs.begin(), outputs.end(), each.edge) - outputs.begin());
  }
}

void AotFunction::refuse_what_differs(const Graph& program) const {
  if (counts_places_of_arguments(program))
    refuse("a view of an argument counts places of memory in which that may begin anywhere");
  const Graph& functional = derivation_->functional();
  for (const Input& each : functional.inputs) {
    if (each.role == Role::Base)
      refuse(
          "arguments share memory and one of them is written: the gradient of a part of that memory is a "
          "step "
          "of its own on the tape");
  }
  for (const Effect& each : functional.effects) {
    const std::vector<int>& constants = derivation_->tape().constants;
    const bool ends = std::find(constants.begin(), constants.end(), each.input) != constants.end();
    if (each.kind == Effect::Kind::Layout && ends)
      refuse("the layout of an argument is changed, and its history ends");
    if (each.kind == Effect::Kind::Set)
      refuse("an argument comes to lie elsewhere, with the history of what lies there");
  }
}

std::string AotFunction::collectives() const { return collectives_text(forward_->get().graph()); }

std::size_t AotFunction::code_bytes() const {
  return jit::code_bytes(forward_->get().graph()) + backwards_->code_bytes();
}

std::string_view AotFunction::obstacle(Inputs arguments) const {
  if (levels::top != nullptr) return "a transform sees each of its ops";
  if (!grad_enabled()) return "no gradients are recorded";
  for (const int i : written_) {
    const Tensor& x = arguments[static_cast<std::size_t>(i)];
    if (x.impl()->origin)
      return "an argument that is written is a view, and what it is a view of has the write in its history, "
             "too";
    if (requires_grad(x) && is_leaf(x)) return "a leaf that requires grad is written";
  }
  SmallVector<std::pair<const tape::Node*, std::uint32_t>, 8> edges;
  for (const int i : joint().wanted) {
    const Tensor& x = arguments[static_cast<std::size_t>(i)];
    const tape::Edge edge = tape::history(x);
    if (edge && !is_of_type(x, edge.node->output_types[edge.output]))
      return "what an argument came from has another type, in which its gradients are summed";
    edges.emplace_back(edge.node.get(), edge.output);
  }
  std::sort(edges.begin(), edges.end());
  const auto same = std::adjacent_find(edges.begin(), edges.end());
  if (same == edges.end()) return {};
  return same->first == nullptr ? "its arguments are copies without histories"
                                : "two of its arguments have one history, where their gradients are one sum";
}

Tensors AotFunction::run(Inputs arguments, const SymbolValues& symbols) const {
  SmallVector<tape::Edge, 8> histories;  // before the layout of an argument changes
  for (const Tensor& each : arguments) histories.push_back(tape::history(each));
  Tensors made;
  {
    const GradMode off(false);
    made = forward_->get().run(arguments, symbols);
  }
  const auto outputs = static_cast<std::size_t>(joint().outputs);
  const auto nodes = make_nodes(histories, symbols, Inputs(made).subspan(outputs));
  made.resize(outputs);
  origins_.place(made, symbols);
  link(nodes, arguments, made);
  origins_.settle(made);
  return made;
}

// By part; the last part is the oldest node.
std::vector<Ref<tape::Node>> AotFunction::make_nodes(std::span<const tape::Edge> histories,
                                                     const SymbolValues& symbols, Inputs saved) const {
  const std::vector<BackwardPart>& parts = backwards_->parts();
  const std::vector<Edge>& inputs = derivation_->tape().inputs;
  std::vector<Ref<tape::Node>> nodes(parts.size());
  for (std::size_t p = parts.size(); p-- > 0;) {
    SmallVector<tape::Edge, 2> next;
    next.reserve(parts[p].targets.size());
    for (const Edge& each : parts[p].targets) {
      if (derivation_->is_input(each)) {
        const auto input = std::find(inputs.begin(), inputs.end(), each) - inputs.begin();
        next.push_back(histories[static_cast<std::size_t>(input)]);
        continue;
      }
      const std::size_t later = backwards_->part_of(each.node);
      const std::vector<Edge>& outputs = parts[later].outputs;
      const auto output = std::find(outputs.begin(), outputs.end(), each) - outputs.begin();
      next.push_back({nodes[later], static_cast<std::uint32_t>(output)});
    }
    nodes[p] = Ref<tape::Node>(new CompiledNode(backwards_, p, symbols, std::move(next), saved));
  }
  return nodes;
}

namespace {

// Makes `edge` the history of a base; its existing views see the new history by its version.
void become(const Tensor& base, tape::Edge edge) {
  AutogradMeta& meta = tape::make_meta(base);
  if (meta.history.node.get() == edge.node.get() && meta.history.output == edge.output) return;
  meta.history = std::move(edge);
  ++meta.history_version;
}

}  // namespace

void AotFunction::link(std::span<const Ref<tape::Node>> nodes, Inputs arguments, const Tensors& made) const {
  const auto edge_of = [&](const Port& port) { return tape::Edge{nodes[port.node], port.output}; };
  const auto is_given = [&](const Tensor& x) {
    return std::any_of(arguments.begin(), arguments.end(),
                       [&](const Tensor& a) { return a && a.is_same(x); });
  };
  // Kernels may make what views in the program share as one of those views: then it has a history of its own.
  const auto is_made = [&](const Tensor& x) {
    return std::any_of(made.begin(), made.end(), [&](const Tensor& each) { return each.is_same(x); });
  };
  std::vector<std::pair<Tensor, const Port*>> views;
  for (const Port& each : ports_) {
    if (!each.result) continue;
    const auto index = static_cast<std::size_t>(each.result->index);
    const Tensor& x = each.result->is_input ? arguments[index] : made[index];
    if (x.impl()->origin) {  // an argument whose layout was changed is a view of what it was
      views.emplace_back(x, &each);
    } else if (is_given(x)) {
      tape::replace_history(x, edge_of(each));
    } else {
      tape::start_history(x, edge_of(each));
    }
  }
  for (const int i : derivation_->tape().constants)
    tape::replace_history(arguments[static_cast<std::size_t>(i)], {});
  for (const auto& [x, port] : views) {
    ViewOrigin& origin = *x.impl()->origin;
    const Tensor base = base_of(origin);
    const auto left = std::find_if(derivation_->tape().results.begin(), derivation_->tape().results.end(),
                                   [&](const Tape::Leaving& each) { return each.edge == port->edge; });
    for (const Port& each : ports_) {
      if (left->base == each.edge && !is_given(base) && !is_made(base)) become(base, edge_of(each));
    }
    tape::make_meta(x).history = edge_of(*port);
    origin.history_version = tape::history_version(base);
    origin.follows = left->follows;
    origin.cuts = tape::cuts(base);
  }
}

}  // namespace kiln::jit

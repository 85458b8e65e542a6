#include "jit/pair.h"

#include <algorithm>

#include <fmt/format.h>

#include "jit/pair_node.h"

#include "jit/pipeline.h"
#include "tensor/autograd.h"
#include "tensor/levels/level.h"
#include "tensor/tape/meta.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

constexpr std::string_view kBefore[] = {"expand_views"};

[[noreturn]] void refuse(std::string why) { throw OpError(ErrorKind::Capture, std::move(why)); }

}  // namespace

std::shared_ptr<const Pair> Pair::make(const Graph& captured, const std::vector<bool>& wanted,
                                       const PairOptions& options) {
  return std::shared_ptr<const Pair>(
      new Pair(run_passes(captured, kBefore, false).back().graph, wanted, options));
}

Pair::Pair(const Graph& program, const std::vector<bool>& wanted, const PairOptions& options)
    : derivation_(std::make_shared<const Derivation>(program, wanted)) {
  const Graph& functional = derivation_->functional();
  for (const Effect& each : functional.effects) {
    if (each.kind == Effect::Kind::Write) written_.push_back(each.input);
  }
  refuse_what_differs();
  find_ports();
  std::vector<Derivation::Incoming> incoming;
  for (const Port& each : ports_) {
    if (each.result) incoming.push_back({each.edge, each.type, each.name});
  }
  if (incoming.empty()) refuse("no result has a gradient");
  backwards_ = std::make_shared<const Backwards>(derivation_, incoming, options);
  Graph forward = parts().forward;
  // As outputs they are kept apart from what the caller gets.
  for (const ValueId id : forward.saved) forward.outputs.push_back(Operand::of(id));
  forward.saved.clear();
  forward_ = Executable::make(prepared_part(forward, options.fused));
}

// What is passed on as it came has its history already.
void Pair::find_ports() {
  const Tape& tape = derivation_->tape();
  const auto has = [this](const Edge& edge) {
    return std::any_of(ports_.begin(), ports_.end(), [&](const Port& each) { return each.edge == edge; });
  };
  for (auto& [result, each] : derivation_->of_results()) {
    if (!derivation_->is_input(each.edge)) ports_.push_back({each.edge, each.type, each.name, result});
  }
  for (const Tape::Leaving& each : tape.results) {
    if (each.base && !derivation_->is_input(each.base) && !has(each.base)) {
      ports_.push_back({each.base, each.base_type, "base", std::nullopt});
    }
  }
}

// Which nodes of the tape lie on the way back from here, itself left out.
std::vector<bool> Pair::above(const Edge& edge) const {
  const Tape& tape = derivation_->tape();
  std::vector<bool> seen(tape.nodes.size(), false);
  std::vector<int> path{edge.node};
  while (!path.empty()) {
    const int n = path.back();
    path.pop_back();
    for (const Edge& each : tape.nodes[static_cast<std::size_t>(n)].edges) {
      if (!each || seen[static_cast<std::size_t>(each.node)]) continue;
      seen[static_cast<std::size_t>(each.node)] = true;
      path.push_back(each.node);
    }
  }
  return seen;
}

void Pair::refuse_what_differs() const {
  const Graph& functional = derivation_->functional();
  const Tape& tape = derivation_->tape();
  for (const Input& each : functional.inputs) {
    if (each.role == Role::Base) refuse("arguments share memory, and one of them is written");
  }
  for (const Effect& each : functional.effects) {
    if (each.kind == Effect::Kind::Layout) refuse("the layout of an argument is changed");
  }
  // A hook on it, or its gradient by `grads`, would see that part alone that comes in from outside.
  for (const Tape::Leaving& last : tape.results) {
    const std::vector<bool> on_the_way = above(last.edge);
    for (const Tape::Leaving& each : tape.results) {
      if (!derivation_->is_input(each.edge) && on_the_way[static_cast<std::size_t>(each.edge.node)]) {
        refuse("one result is computed from another");
      }
    }
  }
}

bool Pair::holds_for(Inputs arguments) const {
  if (levels::top != nullptr || !grad_enabled()) return false;
  // A write through a view is its base's, too.
  for (const int i : written_) {
    const Tensor& x = arguments[static_cast<std::size_t>(i)];
    if (x.impl()->origin || (requires_grad(x) && is_leaf(x))) return false;
  }
  // Two arguments may come from one place, where their gradients are one sum.
  std::vector<std::pair<const tape::Node*, std::uint32_t>> edges;
  for (const int i : joint().wanted) {
    const tape::Edge edge = tape::history(arguments[static_cast<std::size_t>(i)]);
    edges.emplace_back(edge.node.get(), edge.output);
  }
  std::sort(edges.begin(), edges.end());
  return std::adjacent_find(edges.begin(), edges.end()) == edges.end();
}

Tensors Pair::run(Inputs arguments, const SymbolValues& symbols) const {
  Tensors made;
  {
    const GradMode off(false);
    made = forward_->run(arguments, symbols);
  }
  const auto outputs = static_cast<std::size_t>(joint().outputs);
  const Ref<tape::Node> node(
      new PairNode(backwards_, ports_, symbols, arguments, Inputs(made).subspan(outputs)));
  made.resize(outputs);
  link(node, arguments, made);
  return made;
}

void Pair::link(const Ref<tape::Node>& node, Inputs arguments, const Tensors& made) const {
  const auto is_given = [&](const Tensor& x) {
    return std::any_of(arguments.begin(), arguments.end(),
                       [&](const Tensor& a) { return a && a.is_same(x); });
  };
  std::vector<std::pair<Tensor, std::uint32_t>> views;
  for (std::uint32_t p = 0; p < ports_.size(); ++p) {
    const std::optional<Result>& result = ports_[p].result;
    if (!result) continue;
    const auto index = static_cast<std::size_t>(result->index);
    const Tensor& x = result->is_input ? arguments[index] : made[index];
    if (is_given(x)) {
      tape::replace_history(x, {node, p});
    } else if (x.impl()->origin) {
      views.emplace_back(x, p);
    } else {
      tape::start_history(x, {node, p});
    }
  }
  for (const int i : derivation_->tape().constants)
    tape::replace_history(arguments[static_cast<std::size_t>(i)], {});
  for (const auto& [x, p] : views) {
    ViewOrigin& origin = *x.impl()->origin;
    const Tensor base = base_of(origin);
    const auto left = std::find_if(derivation_->tape().results.begin(), derivation_->tape().results.end(),
                                   [&](const Tape::Leaving& each) { return each.edge == ports_[p].edge; });
    for (std::uint32_t q = 0; q < ports_.size(); ++q) {
      if (left->base == ports_[q].edge && !is_given(base) && !tape::has_history(base))
        tape::start_history(base, {node, q});
    }
    tape::start_history(x, {node, p});
    origin.history_version = tape::history_version(base);
  }
}

}  // namespace kiln::jit

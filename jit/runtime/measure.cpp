#include "jit/runtime/measure.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "jit/cpu/kernel.h"
#include "jit/graph/collectives.h"
#include "jit/graph/evaluate.h"
#include "jit/loops/kernel_op.h"
#include "jit/runtime/kernel_cost.h"
#include "jit/runtime/roof.h"
#include "tensor/functions.h"
#include "tensor/generator_scope.h"

namespace kiln::jit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRuns = 10;
constexpr double kEnough = 0.05;  // seconds for the runs of one node

template <class F>
double best_of(int runs, F&& f) {
  double best = 0, total = 0;
  for (int k = 0; k < runs && (k < 2 || total < kEnough); ++k) {
    const Clock::time_point start = Clock::now();
    f();
    const double took = std::chrono::duration<double>(Clock::now() - start).count();
    best = k == 0 ? took : std::min(best, took);
    total += took;
  }
  return best;
}

class Measurement {
 public:
  Measurement(const Graph& graph, Inputs arguments)
      : graph_(graph), symbols_(bind_symbols(graph, arguments, graph.hints)), kernels_(kernels_of(graph)) {
    values_.resize(graph.values.size());
    const std::vector<int> places = graph.arguments();
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const int place = places[i] >= 0 ? places[i] : graph.inputs[i].members[0];
      const Tensor& given = arguments[static_cast<std::size_t>(place)];
      values_[i] = places[i] >= 0 ? given : flat_alias(given, evaluate(graph.values[i].type.sizes, symbols_));
    }
  }

  std::vector<NodeCost> run() {
    std::vector<NodeCost> costs;
    for (const Node& node : graph_.nodes) {
      if (node.is_constant()) {
        value(node.outputs[0]) = node.constant;
      } else if (node.is_view()) {
        keep(node, bind(*node.op, operands(node), attrs(node)));
      } else {
        costs.push_back(cost(node));
      }
    }
    return costs;
  }

 private:
  Tensor& value(ValueId id) { return values_[static_cast<std::size_t>(id)]; }
  Attrs attrs(const Node& node) const { return evaluate(*node.op, node.attrs, symbols_); }
  Tensors operands(const Node& node) {
    Tensors all;
    for (const Operand& each : node.operands) {
      all.push_back(each.is_value()    ? value(each.value)
                    : each.is_number() ? number_tensor(each.number, symbols_)
                                       : Tensor());
    }
    return all;
  }
  void keep(const Node& node, const Tensors& results) {
    for (std::size_t k = 0; k < results.size(); ++k) value(node.outputs[k]) = results[k];
  }

  NodeCost cost(const Node& node) {
    const Tensors in = operands(node);
    const Attrs given = attrs(node);
    Tensors out;
    NodeCost made;
    made.node = &node;
    // Of what is done together with other ranks each run would be one more for them.
    made.seconds = best_of(communicates(node) ? 1 : kRuns, [&] { out = apply(node, in, given); });
    keep(node, out);
    const auto kernel = std::find_if(kernels_.begin(), kernels_.end(),
                                     [&](const FusedKernel& each) { return each.op == node.op; });
    if (kernel != kernels_.end()) {
      made.is_kernel = true;
      made.ops = ops_of(*kernel);
      static_cast<Cost&>(made) = kernel_cost(*kernel->lowered, *kernel->schedule, in, out, symbols_);
    } else {
      made.ops = {node.op};
      static_cast<Cost&>(made) = kiln::cost_of(*node.op, in, out);
    }
    compare(made);
    return made;
  }

  static Tensors apply(const Node& node, const Tensors& in, const Attrs& attrs) {
    Tensors out = bind(*node.op, in, attrs);
    if (node.form == Form::Copy) {
      for (Tensor& each : out) each = ops::clone(each);
    }
    return out;
  }

  static std::vector<const Op*> ops_of(const FusedKernel& kernel) {
    std::vector<const Op*> ops;
    for (const int each : kernel.nodes)
      ops.push_back(kernel.source->nodes[static_cast<std::size_t>(each)].op);
    return ops;
  }

  // The share of the roof that is nearer, and which it is.
  static void compare(NodeCost& cost) {
    if (!cost.flops || cost.seconds <= 0) return;
    const auto bytes = static_cast<double>(cost.bytes);
    const Roof roof = memory_roof(cost.bytes, bytes / cost.seconds);
    const double moving = bytes / roof.bytes_per_second;
    const auto flops = static_cast<double>(*cost.flops);
    const double computing = flops / arithmetic_roof(flops / cost.seconds);
    cost.share = std::max(moving, computing) / cost.seconds;
    cost.roof = moving >= computing ? roof.level : kArithmetic;
  }

  const Graph& graph_;
  SymbolValues symbols_;
  std::vector<FusedKernel> kernels_;
  std::vector<Tensor> values_;
};

}  // namespace

std::vector<NodeCost> measure(const Graph& graph, Inputs arguments) {
  const GeneratorScope draws_nothing;
  return Measurement(graph, arguments).run();
}

}  // namespace kiln::jit

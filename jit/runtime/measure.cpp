#include "jit/runtime/measure.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>

#include "jit/cpu/kernel.h"
#include "jit/graph/collectives.h"
#include "jit/graph/evaluate.h"
#include "jit/loops/kernel_op.h"
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

// ---- What nodes read, write and compute ----

std::int64_t bytes_of(const Tensor& x) {
  return x ? x.numel() * static_cast<std::int64_t>(size_of(x.dtype())) : 0;
}

// Of a tensor that a kernel reads through views, only what they show.
std::int64_t bytes_read(const Lowered& lowered, int input, const Tensor& x, const SymbolValues& symbols) {
  std::int64_t most = 0;
  for (const LoopNest& pass : lowered.passes) {
    for (const Load& load : pass.loads) {
      for (const Load& each : load.operands) {  // at most one for each element
        if (each.input == input)
          most =
              std::max<std::int64_t>(most, std::min(x.numel(), count_elements(evaluate(pass.axes, symbols))));
      }
      if (load.input != input) continue;
      most = std::max<std::int64_t>(most, count_elements(layout_of(load, x.layout(), symbols).layout.sizes));
    }
  }
  return std::min(most * static_cast<std::int64_t>(size_of(x.dtype())), bytes_of(x));
}

// One for each scalar function and each element that a reduction takes in. What a later pass computes again
// counts once; so do numbers that are the same for all elements, as nothing.
std::int64_t kernel_flops(const Lowered& lowered, const Schedule& schedule, const SymbolValues& symbols) {
  std::set<int> counted;
  std::int64_t flops = 0;
  for (std::size_t p = 0; p < lowered.passes.size(); ++p) {
    const LoopNest& pass = lowered.passes[p];
    if (schedule.nests[p].of_rows) continue;
    auto steps = static_cast<std::int64_t>(pass.reductions.size() + pass.columns.size());
    for (const Instruction& each : pass.body) {
      const bool counts = each.kind == Instruction::Kind::Apply && !each.invariant;
      if (counts && counted.insert(each.node).second) ++steps;
    }
    flops += steps * count_elements(evaluate(pass.axes, symbols)).fixed();
  }
  return flops;
}

std::optional<std::int64_t> flops_of(const Node& node, Inputs operands, Inputs results) {
  if (node.op->products != nullptr) return 2 * results[0].numel() * node.op->products(operands);
  if (node.op->lowering == Lowering::Pointwise) return results[0].numel();
  if (node.op->lowering == Lowering::Reduce) return operands[0].numel();
  return std::nullopt;
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
    for (const Tensor& each : out) made.bytes += bytes_of(each);
    const auto kernel = std::find_if(kernels_.begin(), kernels_.end(),
                                     [&](const FusedKernel& each) { return each.op == node.op; });
    if (kernel != kernels_.end()) {
      made.is_kernel = true;
      made.ops = ops_of(*kernel);
      made.flops = kernel_flops(*kernel->lowered, *kernel->schedule, symbols_);
      for (std::size_t k = 0; k < in.size(); ++k)
        made.bytes += bytes_read(*kernel->lowered, static_cast<int>(k), in[k], symbols_);
    } else {
      made.ops = {node.op};
      made.flops = flops_of(node, in, out);
      for (const Tensor& each : in) made.bytes += bytes_of(each);
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

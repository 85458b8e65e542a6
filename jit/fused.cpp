#include "jit/fused.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>

#include "jit/elementwise_kernel.h"
#include "jit/lower.h"
#include "jit/passes/passes.h"
#include "jit/past_caches.h"
#include "jit/rewrite.h"
#include "jit/same_code.h"

namespace kiln::jit {
namespace {

// A row of no table: the op of one kernel. Its attribute is the values of the symbols that it follows.
struct KernelOp : Op {
  // What it was made from, for those who look into it.
  struct Origin {
    std::shared_ptr<const Graph> source;
    std::vector<int> nodes;
    std::vector<ValueId> outputs;
    std::shared_ptr<const Codes> code;
  };
  KernelOp(const Op& row, std::unique_ptr<const Kernel> made, Origin from)
      : Op(row), kernel(std::move(made)), origin(std::move(from)) {}
  std::unique_ptr<const Kernel> kernel;
  Origin origin;
};

Tensors run_kernel(const Op& op, Inputs inputs, const Attrs& attrs) {
  return static_cast<const KernelOp&>(op).kernel->run(inputs, attrs.get<Dims>("symbols"));
}
std::vector<TensorType> infer_kernel(std::span<const TensorType>, const Attrs& attrs) {
  return static_cast<const KernelOp&>(*attrs.op()).kernel->types(attrs.get<Dims>("symbols"));
}

std::shared_ptr<const Op> op_of(std::unique_ptr<const Kernel> kernel, KernelOp::Origin origin) {
  constexpr std::string_view kNoRule = "a kernel is made from a graph that is differentiated already";
  static const std::string kParameters = "(inputs: tensors, *, symbols: ints)";
  static const Signature kLike = Signature::parse("kernel" + kParameters);
  Signature signature = kLike;
  signature.name = kernel->lowered().passes[0].name;
  signature.text = signature.name + kParameters;
  Op row{.signature = std::move(signature),
         .family = "kernel",
         .documentation = "Several ops of one graph as one compiled kernel.",
         .example = "",
         .infer = infer_kernel,
         .eager = run_kernel,
         .vjp = Rule<VjpFn>::none(kNoRule),
         .jvp = Rule<JvpFn>::none(kNoRule),
         .batch = Rule<BatchFn>::none(kNoRule),
         .lowering = Lowering::Library,
         .traits = kChecksInEager,
         .outputs = 1};
  for (const LoopNest& pass : kernel->lowered().passes) {
    for (const Instruction& each : pass.body) {
      if (each.failure >= 0) row.traits |= kMayFail;
    }
    for (const Load& each : pass.loads) {
      if (each.drawn != nullptr) row.traits |= kRandom;
      if (each.picked != nullptr && each.picked->has(kMayFail)) row.traits |= kMayFail;
    }
  }
  row.outputs = static_cast<int>(kernel->lowered().outputs.size());
  return std::make_shared<const KernelOp>(row, std::move(kernel), std::move(origin));
}

// The order in which nodes and kernels run: what each reads comes before it, else as in the graph.
class Schedule {
 public:
  Schedule(const Graph& graph, const Fusion& fusion) : graph_(graph), fusion_(fusion) {
    waits_.resize(graph.nodes.size(), 0);
    readers_.resize(graph.nodes.size());
    const std::vector<int> producers = graph.producers();
    int last_draw = -1;
    for (int to = 0; to < static_cast<int>(graph.nodes.size()); ++to) {
      const Node& node = graph.nodes[static_cast<std::size_t>(to)];
      for (const Operand& each : node.operands) {
        if (each.is_value()) edge(producers[static_cast<std::size_t>(each.value)], to);
      }
      if (node.is_constant() || !node.op->has(kRandom)) continue;
      edge(last_draw, to);
      last_draw = to;
    }
  }

  // Calls f(place) for each node that runs alone, and for the first of each group.
  template <class F>
  void each(F&& f) {
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (int place = 0; place < static_cast<int>(graph_.nodes.size()); ++place) {
      if (unit(place) == place && waits_[static_cast<std::size_t>(place)] == 0) ready.push(place);
    }
    while (!ready.empty()) {
      const int place = ready.top();
      ready.pop();
      f(place);
      for (const int reader : readers_[static_cast<std::size_t>(place)]) {
        if (--waits_[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
      }
    }
  }

 private:
  // The node that stands for the kernel of a node.
  int unit(int place) const {
    const int group = fusion_.group_of[static_cast<std::size_t>(place)];
    return group < 0 ? place : fusion_.groups[static_cast<std::size_t>(group)].nodes.front();
  }
  void edge(int from, int to) {
    if (from < 0 || unit(from) == unit(to)) return;
    readers_[static_cast<std::size_t>(unit(from))].push_back(unit(to));
    ++waits_[static_cast<std::size_t>(unit(to))];
  }

  const Graph& graph_;
  const Fusion& fusion_;
  std::vector<int> waits_;
  std::vector<std::vector<int>> readers_;
};

// Puts a node in the place of each group.
class Fuser {
 public:
  // What a kernel is given.
  struct Given {
    std::vector<ValueId> inputs;
    std::vector<std::string> symbols;
  };
  Fuser(const Graph& graph, const Fusion& fusion, std::span<const Given> given,
        std::vector<std::shared_ptr<const Op>> ops)
      : graph_(graph), fusion_(fusion), given_(given), rewriter_(graph) {
    rewriter_.graph.stage = Stage::Fused;
    rewriter_.graph.own_ops = std::move(ops);
  }

  Graph run() {
    Schedule(graph_, fusion_).each([this](int place) {
      const int group = fusion_.group_of[static_cast<std::size_t>(place)];
      if (group < 0) {
        rewriter_.copy(graph_.nodes[static_cast<std::size_t>(place)]);
      } else {
        kernel(static_cast<std::size_t>(group));
      }
    });
    return dce(rewriter_.finish());
  }

 private:
  void kernel(std::size_t index) {
    const Group& group = fusion_.groups[index];
    Node node;
    node.op = rewriter_.graph.own_ops[index].get();
    Sizes symbols;
    for (const std::string& each : given_[index].symbols) symbols.push_back(Size::symbol(each));
    node.attrs = {symbols};
    for (const ValueId id : given_[index].inputs) node.operands.push_back(Operand::of(rewriter_.at(id)));
    node.place = graph_.nodes[static_cast<std::size_t>(group.nodes.back())].place;
    std::vector<Type> types;
    std::vector<std::string> names;
    for (const ValueId id : group.outputs) {
      types.push_back(graph_.values[static_cast<std::size_t>(id)].type);
      names.push_back(graph_.values[static_cast<std::size_t>(id)].name);
    }
    const std::vector<ValueId> made = rewriter_.append(std::move(node), std::move(types), names);
    for (std::size_t k = 0; k < made.size(); ++k) rewriter_.map(group.outputs[k], made[k]);
  }

  const Graph& graph_;
  const Fusion& fusion_;
  std::span<const Given> given_;  // by group
  Rewriter rewriter_;
};

// By value: does a node read it that is not of the kernel which makes it?
std::vector<bool> read_elsewhere(const Graph& graph, const Fusion& fusion) {
  const std::vector<int> producers = graph.producers();
  std::vector<bool> read(graph.values.size(), false);
  for (std::size_t place = 0; place < graph.nodes.size(); ++place) {
    const int group = fusion.group_of[place];
    for (const Operand& each : graph.nodes[place].operands) {
      if (!each.is_value()) continue;
      const int maker = producers[static_cast<std::size_t>(each.value)];
      const bool is_own =
          group >= 0 && maker >= 0 && fusion.group_of[static_cast<std::size_t>(maker)] == group;
      if (!is_own) read[static_cast<std::size_t>(each.value)] = true;
    }
  }
  return read;
}

}  // namespace

namespace {

// What becomes of a functional graph, all but the machine code.
struct Design {
  std::shared_ptr<const Graph> source;
  Fusion fusion;
  std::vector<Lowered> lowered;  // by group

  std::vector<const LoopNest*> nests() const {
    std::vector<const LoopNest*> all;
    for (const Lowered& each : lowered) {
      for (const LoopNest& pass : each.passes) all.push_back(&pass);
    }
    return all;
  }
};

Design design(Graph graph) {
  Design made;
  made.source = std::make_shared<const Graph>(lift_views(narrow_writes(open_reductions(std::move(graph)))));
  const Graph& source = *made.source;
  made.fusion = find_groups(source, false);
  const std::vector<bool> is_read = read_elsewhere(source, made.fusion);
  for (const Group& group : made.fusion.groups) {
    const std::string name = fmt::format("kernel_{}", made.lowered.size());
    Lowered lowered = group.space.reduces() ? lower_rows(source, group, name) : lower(source, group, name);
    if (lowered.columns.empty() && has_short_rows(group.space, source.hints))
      lowered = side_by_side(std::move(lowered));
    std::vector<bool> read_later;
    for (const ValueId id : group.outputs) read_later.push_back(is_read[static_cast<std::size_t>(id)]);
    mark_past_caches(lowered, read_later, source.hints);
    made.lowered.push_back(std::move(lowered));
  }
  return made;
}

// `functions`: by pass of all kernels.
Graph assemble(Design design, const CompiledKernels& compiled) {
  const Graph& source = *design.source;
  std::vector<std::shared_ptr<const Op>> kernels;
  std::vector<Fuser::Given> given;
  auto function = compiled.functions.begin();
  for (std::size_t k = 0; k < design.lowered.size(); ++k) {
    const Group& group = design.fusion.groups[k];
    const auto count = static_cast<std::ptrdiff_t>(design.lowered[k].passes.size());
    const std::set<std::string> symbols = symbols_of(design.lowered[k]);
    given.push_back({design.lowered[k].inputs, {symbols.begin(), symbols.end()}});
    kernels.push_back(op_of(make_kernel(std::move(design.lowered[k]), {function, function + count},
                                        compiled.code, given.back().symbols),
                            {design.source, group.nodes, group.outputs, compiled.code}));
    function += count;
  }
  return Fuser(source, design.fusion, given, std::move(kernels)).run();
}

}  // namespace

FusedGraph fuse(Graph graph) {
  Design made = design(std::move(graph));
  const std::vector<const LoopNest*> nests = made.nests();
  const CompiledKernels compiled = nests.empty() ? CompiledKernels() : compile_each_once(nests);
  return {assemble(std::move(made), compiled)};
}

Graph outline(const Graph& graph) {
  Design made = design(graph);
  const CompiledKernels none{std::vector<KernelFn>(made.nests().size(), nullptr), std::make_shared<Codes>()};
  return assemble(std::move(made), none);
}

const ElementwiseKernel* elementwise_kernel_of(const Op& op) {
  if (op.eager != run_kernel) return nullptr;
  return dynamic_cast<const ElementwiseKernel*>(static_cast<const KernelOp&>(op).kernel.get());
}

std::vector<FusedKernel> kernels_of(const Graph& fused) {
  std::vector<FusedKernel> kernels;
  for (const auto& each : fused.own_ops) {
    if (each->eager != run_kernel) continue;
    const auto& op = static_cast<const KernelOp&>(*each);
    kernels.push_back({&op, &op.kernel->lowered(), op.origin.source.get(), op.origin.nodes, op.origin.outputs,
                       op.origin.code.get()});
  }
  return kernels;
}

}  // namespace kiln::jit

#include "tests/onnx/random_graphs.h"

#include <optional>
#include <random>
#include <set>
#include <string_view>

#include "jit/graph/evaluate.h"
#include "jit/graph/rewrite.h"
#include "onnx/export/export.h"
#include "tests/tensor/samples.h"

namespace kiln::testing {
namespace {

struct OpSample {
  const Op* op;
  std::vector<Tensor> inputs;  // absent ones are optional operands without a value
  std::vector<Attr> attrs;
  std::optional<bool> is_usable{};  // once asked
};

// Factors of a matrix are not unique: another algorithm gives columns of other signs.
bool has_one_answer(const Op& op) {
  static const std::set<std::string_view> kFactors{"qr", "eigh", "thin_svd", "svd", "complement"};
  return !kFactors.contains(op.name());
}

std::vector<OpSample>& all_samples() {
  static std::vector<OpSample> samples = [] {
    std::vector<OpSample> made;
    for (const Op* op : OpTable::get().ops()) {
      if (op->has(kDataDependent) || leaves_elements(*op) || is_half(*op) || !has_one_answer(*op)) continue;
      for (const Sample& each : samples_of(*op))
        made.push_back({op, each.in_domain(each.inputs), jit::attr_list(attrs_of(*op, each.attrs))});
    }
    return made;
  }();
  return samples;
}

// A graph that grows with the tensors of its values.
class Growing {
 public:
  Growing() {
    builder.graph.name = "random_graph";
    builder.graph.stage = jit::Stage::Functional;
  }

  jit::Operand input(const Tensor& x) {
    if (!x) return {};
    values.push_back(x);
    return jit::Operand::of(builder.input("x", jit::to_type(x.type())));
  }
  // Whether the node runs on these operands and gives finite elements; the graph then has it.
  bool try_node(const OpSample& sample, const std::vector<jit::Operand>& operands) {
    jit::Node node;
    node.op = sample.op;
    node.attrs = sample.attrs;
    node.operands = operands;
    try {
      const Tensors results = results_of(node);
      for (const Tensor& each : results) {
        if (!each || !is_finite(each)) return false;
      }
      const std::size_t made = builder.append(node).size();
      if (made != results.size()) throw InternalError("a node and its op differ in results");
      values.insert(values.end(), results.begin(), results.end());
      return true;
    } catch (const OpError&) {
      return false;  // outside of the op's domain
    }
  }

  jit::Builder builder;
  std::vector<Tensor> values;

 private:
  static bool is_finite(const Tensor& x) {
    for (const long double each : elements(x)) {
      if (!std::isfinite(each)) return false;
    }
    return true;
  }
  Tensors results_of(const jit::Node& node) const {
    jit::Builder alone;
    jit::Node same = node;
    std::vector<Tensor> arguments;
    for (jit::Operand& each : same.operands) {
      if (!each.is_value()) continue;
      arguments.push_back(values[static_cast<std::size_t>(each.value)]);
      each = jit::Operand::of(alone.input("", builder.type(each.value)));
    }
    for (const jit::ValueId id : alone.append(same)) alone.graph.outputs.push_back(jit::Operand::of(id));
    return jit::evaluate(alone.graph, arguments);
  }
};

// Whether the sample runs, with finite results, and ONNX has a form of it.
bool is_usable(OpSample& sample) {
  if (sample.is_usable) return *sample.is_usable;
  Growing alone;
  std::vector<jit::Operand> operands;
  for (const Tensor& each : sample.inputs) operands.push_back(alone.input(each));
  sample.is_usable =
      alone.try_node(sample, operands) && onnx::export_graph(alone.builder.graph, {}, {}).problems.empty();
  return *sample.is_usable;
}

}  // namespace

RunnableGraph random_runnable_graph(unsigned seed, int count) {
  std::mt19937 engine(seed);
  const auto draw = [&engine](std::size_t size) { return engine() % size; };
  std::vector<OpSample>& samples = all_samples();
  std::vector<const OpSample*> chosen;
  while (std::ssize(chosen) < count) {
    OpSample& sample = samples[draw(samples.size())];
    if (is_usable(sample)) chosen.push_back(&sample);
  }
  Growing growing;
  std::vector<std::vector<jit::Operand>> own;
  for (const OpSample* sample : chosen) {
    own.emplace_back();
    for (const Tensor& each : sample->inputs) own.back().push_back(growing.input(each));
  }
  const std::size_t input_count = growing.values.size();
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    std::vector<jit::Operand> operands = own[i];
    for (jit::Operand& operand : operands) {
      if (!operand.is_value()) continue;
      const auto size = growing.values.size();
      for (std::size_t tried = 0, v = draw(size); tried < size; ++tried, v = (v + 1) % size) {
        const auto id = static_cast<jit::ValueId>(v);
        if (growing.builder.type(id) != growing.builder.type(operand.value)) continue;
        operand = jit::Operand::of(id);
        break;
      }
    }
    if (!growing.try_node(*chosen[i], operands) && !growing.try_node(*chosen[i], own[i]))
      throw InternalError("a sample that ran alone does not run");
  }
  jit::Graph& graph = growing.builder.graph;
  for (std::size_t v = input_count; v < growing.values.size(); ++v)
    graph.outputs.push_back(jit::Operand::of(static_cast<jit::ValueId>(v)));
  growing.values.resize(input_count);
  return {std::move(graph), std::move(growing.values)};
}

}  // namespace kiln::testing

#include "tests/jit/graphs.h"

#include <random>

namespace kiln::jit::testing {
namespace {

struct OpSample {
  const Op* op;
  std::vector<Tensor> inputs;
  Attrs attrs;
};

const std::vector<OpSample>& all_samples() {
  static const std::vector<OpSample> samples = [] {
    std::vector<OpSample> made;
    for (const Op* op : OpTable::get().ops()) {
      if (op->has(kDataDependent)) continue;
      for (const kiln::testing::Sample& sample : kiln::testing::samples_of(*op)) {
        made.push_back({op, sample.in_domain(sample.inputs), kiln::testing::attrs_of(*op, sample.attrs)});
      }
    }
    return made;
  }();
  return samples;
}

Node node_of(const OpSample& sample) {
  Node node;
  node.op = sample.op;
  node.attrs = attr_list(sample.attrs);
  return node;
}

}  // namespace

std::vector<Tensor> present(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> result;
  for (const Tensor& each : inputs) {
    if (each) result.push_back(each);
  }
  return result;
}

void for_each_sample(const EachSample& f) {
  for (const OpSample& sample : all_samples()) {
    Builder builder;
    builder.graph.name = "sample";
    Node node = node_of(sample);
    for (const Tensor& input : sample.inputs) {
      node.operands.push_back(input ? Operand::of(builder.input("", to_type(input.type()))) : Operand{});
    }
    std::vector<ValueId> made;
    try {
      made = builder.append(node);
    } catch (const OpError& error) {  // shapes that depend on data
      if (error.kind() == ErrorKind::Capture) continue;
      throw;
    }
    for (const ValueId id : made) builder.graph.outputs.push_back(Operand::of(id));
    f(*sample.op, sample.inputs, builder.graph);
  }
}

Graph random_graph(unsigned seed, int count) {
  std::mt19937 engine(seed);
  const auto draw = [&engine](std::size_t size) { return engine() % size; };
  const std::vector<OpSample>& samples = all_samples();
  std::vector<const OpSample*> chosen;
  for (int i = 0; i < count; ++i) chosen.push_back(&samples[draw(samples.size())]);
  Builder builder;
  builder.graph.name = "random_graph";
  // Half of the inputs have names.
  std::vector<std::vector<ValueId>> inputs;
  for (const OpSample* sample : chosen) {
    inputs.emplace_back();
    for (const Tensor& input : sample->inputs) {
      const std::string name = draw(2) == 0 ? "x" : "";
      inputs.back().push_back(input ? builder.input(name, to_type(input.type())) : Operand::kAbsent);
    }
  }
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    Node node = node_of(*chosen[i]);
    for (const ValueId id : inputs[i]) {
      Operand operand = id >= 0 ? Operand::of(id) : Operand{};
      if (id >= 0) {  // an earlier value of that type may take the place of the input
        for (std::size_t v = draw(builder.graph.values.size()); v < builder.graph.values.size(); ++v) {
          if (builder.type(static_cast<ValueId>(v)) == builder.type(id))
            operand = Operand::of(static_cast<ValueId>(v));
        }
      }
      node.operands.push_back(operand);
    }
    if (draw(2) == 0)
      node.place = {"dir/random.kiln", static_cast<int>(draw(99)), static_cast<int>(draw(80))};
    if (draw(4) == 0) node.origin = "y";
    try {
      const std::string name = draw(2) == 0 ? "value" : "";
      builder.append(node, std::span(&name, 1));
    } catch (const OpError&) {  // shapes that depend on data
    }
  }
  for (int i = 0; i < 3; ++i) {
    builder.graph.outputs.push_back(Operand::of(static_cast<ValueId>(draw(builder.graph.values.size()))));
  }
  builder.graph.saved.push_back(static_cast<ValueId>(draw(builder.graph.values.size())));
  return builder.graph;
}

}  // namespace kiln::jit::testing

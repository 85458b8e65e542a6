#include "onnx/export/export.h"

#include <fmt/format.h>

#include <algorithm>

#include "onnx/export/model_writer.h"
#include "onnx/export/tensors.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

// The version of the format in which an opset appeared, and at least the one with local functions.
std::int64_t ir_version(int opset) {
  if (opset >= 23) return 11;
  if (opset >= 21) return 10;
  return opset >= 19 ? 9 : 8;
}

ValueInfo info_of(const std::string& name, const jit::Type& type) {
  ValueInfo info;
  info.name = name;
  info.type = to_proto(type);
  return info;
}

bool is_written(const jit::Graph& graph, std::size_t input) {
  return std::ranges::any_of(graph.effects, [input](const jit::Effect& effect) {
    return effect.input == static_cast<jit::ValueId>(input) && effect.kind != jit::Effect::Kind::Same;
  });
}

class GraphExport {
 public:
  GraphExport(const jit::Graph& graph, std::span<const Tensor> stored, const ExportOptions& options)
      : graph_(graph), stored_(stored), writer_(options), scope_(writer_, false) {}

  Export run() {
    check();
    for (const char* const name : {"seed", "draw"}) scope_.fresh(name);
    OnnxValues inputs;
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) inputs.push_back(input(i));
    const Scope::Written written = scope_.write(graph_, inputs);
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) output(written.outputs[i], graph_.outputs[i]);
    for (std::size_t i = 0; i < graph_.effects.size(); ++i) effect(written.effects[i], graph_.effects[i]);
    finish();
    return {std::move(writer_.model), std::move(writer_.problems), std::move(writer_.notes)};
  }

 private:
  GraphProto& model() { return writer_.model.graph; }

  void check() {
    for (const jit::Input& each : graph_.inputs) {
      if (each.role == jit::Role::Base)
        writer_.problems.push_back({{}, "arguments that share memory, of which one is written"});
    }
    if (graph_.stage == jit::Stage::Captured && !graph_.effects.empty())
      writer_.problems.push_back({{}, "a captured graph with writes: export its functional stage"});
  }

  OnnxValue input(std::size_t i) {
    const jit::Value& value = graph_.values[i];
    const std::string name = scope_.fresh(value.name.empty() ? "x" : value.name);
    names_.push_back(name);
    const bool is_stored = i < stored_.size() && stored_[i];
    if (is_stored) scope_.initializers.push_back(to_proto(stored_[i], name));
    if (!is_stored || is_written(graph_, i)) model().inputs.push_back(info_of(name, value.type));
    return {name, dtype_of_parts(value.type.dtype)};
  }

  // A result under a name of its own, where it is no value that a node of this graph made.
  void result(const OnnxValue& value, const std::string& name, const jit::Type& type) {
    std::string given = name.empty() ? value.name : name;
    const bool is_made = std::ranges::any_of(scope_.nodes, [&](const NodeProto& node) {
      return std::ranges::find(node.outputs, given) != node.outputs.end();
    });
    const bool is_taken =
        std::ranges::any_of(model().outputs, [&](const ValueInfo& each) { return each.name == given; });
    if (given.empty() || given != value.name || !is_made || is_taken) {
      given = scope_.fresh(given.empty() ? "result" : given);
      scope_.name_result(given, value);
    }
    model().outputs.push_back(info_of(given, type));
  }

  void output(const OnnxValue& value, const jit::Operand& operand) {
    if (!operand.is_value() && !operand.is_number()) {
      writer_.add_note("a result that is none is no output of the model");
      return;
    }
    if (operand.is_value()) {
      result(value, "", graph_.values[static_cast<std::size_t>(operand.value)].type);
      return;
    }
    jit::Type type;
    type.dtype = value.dtype;
    type.is_number = true;
    result(value, "", type);
  }

  void effect(const OnnxValue& value, const jit::Effect& effect) {
    if (effect.kind == jit::Effect::Kind::Same || effect.value < 0 || effect.member >= 0) return;
    result(value, names_[static_cast<std::size_t>(effect.input)] + ".updated",
           graph_.values[static_cast<std::size_t>(effect.value)].type);
  }

  void finish() {
    if (scope_.draws) {
      draw_input("seed", writer_.options().generator.seed);
      draw_input("draw", writer_.options().generator.offset);
    }
    // Symbols that no input shows are inputs of their own, in front of none that the program knows.
    for (const auto& [symbol, value] : scope_.missing_symbols()) {
      jit::Type type;
      type.dtype = DType::I64;
      model().inputs.push_back(info_of(value, type));
    }
    model().name = graph_.name.empty() ? "graph" : graph_.name;
    model().nodes = std::move(scope_.nodes);
    model().initializers = std::move(scope_.initializers);
    for (ValueInfo& info : scope_.values) {
      const bool is_output =
          std::ranges::any_of(model().outputs, [&](const ValueInfo& each) { return each.name == info.name; });
      if (!is_output) model().values.push_back(std::move(info));
    }
    ModelProto& whole = writer_.model;
    whole.ir_version = ir_version(writer_.options().opset);
    whole.producer = "kiln";
    whole.opsets = {{"", writer_.options().opset}};
    for (const FunctionProto& function : whole.functions) add_domain(function.domain);
    for (const NodeProto& node : whole.graph.nodes) add_domain(node.domain);
  }
  // Which may be given, and is otherwise where the program's generator was.
  void draw_input(const std::string& name, std::uint64_t value) {
    const Tensor number =
        ops::full({}, Tensor::number(static_cast<std::int64_t>(value)), DType::I64, Device{});
    scope_.initializers.push_back(to_proto(number, name));
    model().inputs.push_back(info_of(name, jit::to_type(number.type())));
  }
  void add_domain(const std::string& domain) {
    ModelProto& whole = writer_.model;
    if (!whole.opset(domain)) whole.opsets.push_back({domain, 1});
  }

  const jit::Graph& graph_;
  std::span<const Tensor> stored_;
  ModelWriter writer_;
  Scope scope_;
  std::vector<std::string> names_;  // of inputs
};

}  // namespace

Export export_graph(const jit::Graph& graph, std::span<const Tensor> stored, const ExportOptions& options) {
  if (options.opset < kOldestOpset || options.opset > kNewestOpset)
    throw OpError(ErrorKind::Value,
                  fmt::format("opset {} is none of {} to {}", options.opset, kOldestOpset, kNewestOpset));
  return GraphExport(graph, stored, options).run();
}

}  // namespace kiln::onnx

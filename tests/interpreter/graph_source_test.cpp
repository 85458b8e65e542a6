// Graphs as source of the language: evaluated, the source does what the graph does, to the bit.
#include "interpreter/host/graph_source.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "interpreter/host/source_weights.h"
#include "interpreter/interpreter.h"
#include "interpreter/text/print_tensor.h"
#include "interpreter/values/natives.h"
#include "jit/graph/custom.h"
#include "jit/graph/rewrite.h"
#include "jit/graph/text.h"
#include "jit/passes/run_recipe.h"
#include "tests/effort.h"
#include "tests/jit/programs.h"
#include "tests/tensor/samples.h"

namespace kiln::interp::graph_source_test {
namespace {

namespace fs = std::filesystem;

Value to_value(const Tensor& x) { return x.is_number() ? item_of(x) : Value(x); }

// What runs the source of a graph.
jit::testing::Run as_source(Interpreter& interpreter, const std::string& source, const GraphValue& graph) {
  interpreter.run("<source>", source);
  const std::string name = source.substr(3, source.find('(') - 3);
  return [&interpreter, &graph, name](Inputs given) {
    std::vector<Value> arguments;
    for (const Tensor& each : given) arguments.push_back(to_value(each));
    const auto weights = host::source_weights(graph);
    if (!weights.empty()) {
      arguments.push_back(make<Dict>());
      for (const auto& [key, tensor] : weights) arguments.back().as<Dict>().set(Value(key), Value(tensor));
    }
    Value result;
    try {
      result = interpreter.call(*interpreter.lookup(name), arguments);
    } catch (const lang::UserError& error) {
      throw OpError(ErrorKind::Value, error.diagnostic().message);
    }
    Tensors results;
    if (result.is(Tag::Tuple)) {
      for (const Value& each : result.as<Tuple>().items) results.push_back(to_operand(each));
    } else if (!graph.graph.outputs.empty()) {
      results.push_back(to_operand(result));
    }
    return results;
  };
}

// Empty where the source of `graph` does what `captured` does, which `graph` was made of.
std::string source_difference(Interpreter& interpreter, const jit::Graph& captured, const jit::Graph& graph) {
  const Value value = make_graph(graph);
  const auto& cell = value.as<GraphValue>();
  const std::string source = host::graph_source(cell, interpreter.prelude());
  try {
    const std::string difference = jit::testing::difference(captured, as_source(interpreter, source, cell));
    return difference.empty() ? "" : difference + "\n" + jit::print_graph(graph) + source;
  } catch (const lang::UserError& error) {
    return error.diagnostic().message + "\n" + source;
  }
}

std::string source_difference(Interpreter& interpreter, const jit::Graph& graph) {
  return source_difference(interpreter, graph, graph);
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Nothing where graphs end in front of the op, since the sizes of its result depend on elements.
std::optional<jit::Graph> graph_of_row(const Op& op, const kiln::testing::Sample& sample) {
  jit::Builder builder;
  builder.graph.name = "row";
  builder.graph.stage = jit::Stage::Functional;
  jit::Node node;
  node.op = &op;
  node.attrs = jit::attr_list(kiln::testing::attrs_of(op, sample.attrs));
  for (const Tensor& each : sample.inputs)
    node.operands.push_back(each ? jit::Operand::of(builder.input("", jit::to_type(each.type())))
                                 : jit::Operand{});
  try {
    for (const jit::ValueId id : builder.append(std::move(node)))
      builder.graph.outputs.push_back(jit::Operand::of(id));
  } catch (const OpError& error) {
    if (error.kind() != ErrorKind::Capture) throw;
    return std::nullopt;
  }
  return std::move(builder.graph);
}

}  // namespace

TEST_CASE("each row of the op table is called by its source", "[source]") {
  Interpreter interpreter;
  for (const Op* op : OpTable::get().ops()) {
    if (kiln::testing::leaves_elements(*op)) continue;
    for (const kiln::testing::Sample& sample : kiln::testing::samples_of(*op)) {
      INFO(op->name());
      const std::optional<jit::Graph> graph = graph_of_row(*op, sample);
      if (graph) CHECK(source_difference(interpreter, *graph) == "");
    }
  }
}

TEST_CASE("programs with views, writes and shared memory are their source", "[source]") {
  Interpreter interpreter;
  for (unsigned seed = 1; seed <= 150; seed += kiln::testing::kEvery) {
    INFO(seed);
    const jit::Graph captured = jit::testing::random_program(seed);
    CHECK(source_difference(interpreter, captured) == "");
    CHECK(source_difference(interpreter, captured, jit::run_recipe(jit::recipes::kFunctional, captured)) ==
          "");
  }
}

TEST_CASE("graphs of the tests of passes are their source", "[source]") {
  Interpreter interpreter;
  for (const fs::directory_entry& each :
       fs::recursive_directory_iterator(fs::path(KILN_TEST_DIR) / "passes")) {
    if (each.path().extension() != ".graph") continue;
    const std::string text = text_of(each.path());
    const jit::Graph graph = jit::parse_graph(text.substr(0, text.find("\n=>\n")));
    if (!jit::custom_ops(graph).empty()) continue;
    INFO(each.path().string());
    CHECK(source_difference(interpreter, graph) == "");
  }
}

}  // namespace kiln::interp::graph_source_test

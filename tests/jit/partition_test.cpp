// A joint graph taken apart gives the same bits; what is kept is what the report says.
#include "jit/autodiff/partition.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/graph/verify.h"
#include "jit/passes/run_recipe.h"
#include "tensor/random.h"
#include "tests/jit/gradients.h"
#include "tests/jit/graphs.h"
#include "tests/jit/programs.h"

namespace kiln::partition_test {

using namespace kiln::jit;
using jit::testing::all_floats;
using jit::testing::Outcome;

namespace {

// The forward graph, then backward with what it saved; each tensor saved must take the bytes that are said.
Outcome run_parts(const Partition& parts, const Joint& joint, std::vector<Tensor> arguments,
                  const std::vector<Tensor>& grads) {
  Graph forward = parts.forward;
  for (const ValueId id : parts.forward.saved) forward.outputs.push_back(Operand::of(id));
  const SymbolValues symbols = bind_symbols(forward, arguments);
  const Tensors made = evaluate(forward, arguments);
  std::vector<Tensor> given;
  for (const std::string& each : parts.report.sizes) given.push_back(Tensor::number(symbols.at(each)));
  const std::vector<Tensor> saved(made.begin() + joint.outputs, made.end());
  for (std::size_t k = 0; k < saved.size(); ++k) {
    const SavedValue& said = parts.report.saved[k];
    const ValueId id = parts.forward.saved[k];
    // Those that copy all of a storage, and what the caller holds, take what they take.
    const auto makes = [id](const Node& node) {
      return node.outputs == std::vector<ValueId>{id} && op_text(node) == "as_strided_scatter";
    };
    const bool is_larger = std::any_of(forward.nodes.begin(), forward.nodes.end(), makes);
    const bool is_callers = id < static_cast<ValueId>(forward.inputs.size()) ||
                            std::any_of(
                                forward.effects.begin(), forward.effects.end(),
                                [id](const Effect& each) { return each.value == id; });
    const std::int64_t bytes = saved[k].numel() * static_cast<std::int64_t>(size_of(saved[k].dtype()));
    CHECK(bytes == said.bytes);
    if (!is_callers && !is_larger)
      CHECK(static_cast<std::int64_t>(saved[k].storage()->bytes()) == said.bytes);
  }
  given.insert(given.end(), saved.begin(), saved.end());
  given.insert(given.end(), grads.begin(), grads.end());
  const Tensors gradients = evaluate(parts.backward, given);
  return {{made.begin(), made.begin() + joint.outputs}, arguments, {gradients.begin(), gradients.end()}};
}

struct Way {
  const char* name;
  PartitionOptions options;
};
const Way kWays[] = {{"save all", {Strategy::SaveAll, 1}},
                     {"minimum cut", {Strategy::MinimumCut, 1}},
                     {"half of it", {Strategy::MinimumCut, 0.5}},
                     {"as little as can be", {Strategy::MinimumCut, 0}}};

bool draws(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const Node& node) { return !node.is_constant() && node.op->draws(); });
}

// What is wrong with the ways to take the joint graph apart, empty when nothing is.
std::string fault_of(const jit::testing::Case& each, const Joint& joint) {
  std::int64_t before = INT64_MAX;
  for (const Way& way : kWays) {
    const std::string who = std::string(way.name) + ": ";
    const Partition parts = partition(joint, way.options);
    for (const Graph* graph : {&parts.forward, &parts.backward}) {
      const std::string fault = find_fault(*graph);
      if (!fault.empty()) return who + fault;
    }
    if (draws(parts.backward)) return who + "backward draws";
    if (parts.report.bytes_saved > before) return who + "keeps more";
    before = parts.report.bytes_saved;
    const std::string fault = difference(each, [&](std::vector<Tensor> arguments) {
      return run_parts(parts, joint, std::move(arguments), each.grads);
    });
    if (!fault.empty()) return who + fault;
  }
  return "";
}

void prepare(Joint& joint) {
  joint.graph = run_recipe(recipes::kFewerSteps, joint.graph, {}, true);
  joint.program_nodes.reset();
}

// As made, and after the passes. Programs that raise and those whose derivative is refused are no business of
// this test.
std::string fault_of(const Graph& program, const std::function<std::vector<Tensor>()>& arguments,
                     int& right) {
  Joint joint;
  try {
    joint = differentiate(program, all_floats(program));
  } catch (const OpError&) {
    return "";
  }
  if (joint.given.empty() || jit::testing::raises(program, arguments())) return "";
  const jit::testing::Case each = jit::testing::case_of(program, joint, arguments);
  try {
    std::string fault = fault_of(each, joint);
    if (!fault.empty()) return fault;
    prepare(joint);
    fault = fault_of(each, joint);
    if (!fault.empty()) return "after passes, " + fault;
  } catch (const std::exception& error) {
    return error.what();
  }
  ++right;
  return "";
}

void check_program(unsigned seed, const Graph& program, int& right) {
  const auto fault = [](const Graph& each, int& count) {
    return fault_of(each, [&each] { return jit::testing::arguments_of(each); }, count);
  };
  if (fault(program, right).empty()) return;
  int ignored = 0;
  const Graph small =
      jit::testing::shrunk(program, [&](const Graph& each) { return !fault(each, ignored).empty(); });
  const Joint joint = differentiate(small, all_floats(small));
  FAIL_CHECK("seed " << seed << ": " << fault(small, ignored) << "\n"
                     << print_graph(small) << print_graph(joint.graph));
}

}  // namespace

TEST_CASE("every op of the table has its gradient when taken apart", "[jit][partition]") {
  int right = 0;
  jit::testing::for_each_sample([&](const Op& op, const std::vector<Tensor>& inputs, const Graph& graph) {
    if (op.name().find("empty") != std::string_view::npos) return;
    INFO(print_graph(graph));
    const auto arguments = [&inputs] {
      std::vector<Tensor> fresh;
      for (const Tensor& each : jit::testing::present(inputs)) fresh.push_back(ops::clone(each));
      return fresh;
    };
    CHECK(fault_of(graph, arguments, right) == "");
  });
  CHECK(right > 300);
}

TEST_CASE("random programs have their gradients when taken apart", "[jit][partition]") {
  int right = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    check_program(seed, run_recipe(recipes::kViews, jit::testing::random_program(seed, 8)), right);
  }
  CHECK(right > 250);
  for (unsigned seed = 0; seed < 150; ++seed) {
    const Graph graph = jit::testing::random_graph(seed, 6);
    const bool unset = std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
      return node.op->name().find("empty") != std::string_view::npos;
    });
    if (!unset) check_program(seed, graph, right);
  }
  CHECK(right > 300);
}

namespace {

Partition parts_of(std::string_view text, const PartitionOptions& options = {}) {
  const Graph program = parse_graph(text);
  Joint joint = differentiate(program, all_floats(program));
  prepare(joint);
  return partition(joint, options);
}

std::vector<std::string> saved_names(const Partition& parts) {
  std::vector<std::string> names;
  for (const SavedValue& each : parts.report.saved) names.push_back(each.name);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("two cosines keep their argument alone", "[jit][partition]") {
  const std::string_view text =
      "graph functional two_cosine(%x: f32[5, 5, 5]) {\n"
      "  %a = cos(%x) : f32[5, 5, 5]  # demo.kiln:2:12\n"
      "  %b = cos(%a) : f32[5, 5, 5]  # demo.kiln:2:8\n"
      "  return %b\n"
      "}\n";
  const Partition parts = parts_of(text);
  CHECK(print_graph(parts.forward) ==
        "graph forward two_cosine(%x: f32[5, 5, 5]) {\n"
        "  %a = cos(%x) : f32[5, 5, 5]                      # demo.kiln:2:12\n"
        "  %b = cos(%a) : f32[5, 5, 5]                      # demo.kiln:2:8\n"
        "  return %b\n"
        "  save %x                                          # 500 B\n"
        "}\n");
  CHECK(print_graph(parts.backward) ==
        "graph backward two_cosine(saved %x: f32[5, 5, 5], grad %grad_b: f32[5, 5, 5]) {\n"
        "  %a = cos(%x) : f32[5, 5, 5]                      # recomputes %a, demo.kiln:2:12\n"
        "  %0 = sin(%a) : f32[5, 5, 5]                      # grad of %b, demo.kiln:2:8\n"
        "  %1 = mul(%grad_b, %0) : f32[5, 5, 5]             # grad of %b, demo.kiln:2:8\n"
        "  %2 = neg(%1) : f32[5, 5, 5]                      # grad of %b, demo.kiln:2:8\n"
        "  %3 = sin(%x) : f32[5, 5, 5]                      # grad of %a, demo.kiln:2:12\n"
        "  %4 = mul(%2, %3) : f32[5, 5, 5]                  # grad of %a, demo.kiln:2:12\n"
        "  %grad_x = neg(%4) : f32[5, 5, 5]                 # grad of %a, demo.kiln:2:12\n"
        "  return %grad_x\n"
        "}\n");
  CHECK(to_string(parts.report) ==
        "saved       %x 500 B: an input, for the gradient of %b, %a\n"
        "recomputed  %a = cos, 500 B: cheap, from %x\n"
        "1000 B -> 500 B\n");
  CHECK(parse_graph(print_graph(parts.backward)) == parts.backward);
  CHECK(parts_of(text, {Strategy::SaveAll, 1}).report.bytes_saved == 1000);
}

TEST_CASE("a sum is kept in place of what is summed", "[jit][partition]") {
  const Partition parts = parts_of(
      "graph functional sums(%a: f32[8], %b: f32[8], %c: f32[8], %d: f32[8]) {\n"
      "  %ab = add(%a, %b) : f32[8]\n"
      "  %abc = add(%ab, %c) : f32[8]\n"
      "  %sum = add(%abc, %d) : f32[8]\n"
      "  %s = cos(%sum) : f32[8]\n"
      "  %t = cos(%s) : f32[8]\n"
      "  return %t\n"
      "}\n");
  CHECK(saved_names(parts) == Names{"sum"});
  CHECK(parts.forward.inputs.size() == 4);
  CHECK(parts.forward.outputs.size() + parts.forward.saved.size() == 2);
  CHECK(parts.backward.inputs.size() == 2);
  CHECK(parts.backward.outputs == std::vector<Operand>(4, parts.backward.outputs[0]));
}

TEST_CASE("the gradient of a sum keeps sizes and no tensor", "[jit][partition]") {
  const Partition parts = parts_of(
      "graph functional f(%x: f32[s0, s1]) where s0 = 8, s1 = 6 {\n"
      "  %a = sum(%x, dim=[1], keepdim=false) : f32[s0]\n"
      "  return %a\n"
      "}\n");
  CHECK(parts.forward.saved.empty());
  CHECK(parts.report.sizes == Names{"s1"});
  CHECK(to_string(parts.report) == "saved       size s1: no tensor shows it\n0 B -> 0 B\n");
  const Tensor grad = kiln::testing::make(Dims{3}, DType::F32, [](std::int64_t i) { return double(i); });
  const Tensor given[] = {Tensor::number(std::int64_t{2}), grad};
  const Tensors gradient = evaluate(parts.backward, given);
  CHECK(gradient[0].sizes() == Dims{3, 2});
  CHECK(kiln::testing::elements(gradient[0]) == std::vector<long double>{0, 0, 1, 1, 2, 2});
}

TEST_CASE("what dropout left out has no gradient, and backward does not draw", "[jit][partition]") {
  const Graph program = parse_graph(
      "graph functional f(%x: f32[100]) {\n"
      "  %y = dropout(%x, p=0.5, training=true) : f32[100]\n"
      "  return %y\n"
      "}\n");
  const Joint joint = differentiate(program, {true});
  for (const Way& way : kWays) {
    const Partition parts = partition(joint, way.options);
    CHECK_FALSE(draws(parts.backward));
    seed(3);
    const Tensor ones = ops::ones(Dims{100}, DType::F32);
    const Outcome outcome = run_parts(parts, joint, {ones}, {ones});
    CHECK(kiln::testing::same_bits(outcome.outputs[0], outcome.gradients[0]));
    CHECK(kiln::testing::elements(outcome.outputs[0])[0] != kiln::testing::elements(outcome.outputs[0])[1]);
  }
}

TEST_CASE("a product is kept, its elementwise surroundings run again", "[jit][partition]") {
  const std::string_view text =
      "graph functional f(%x: f32[64, 64], parameter %w: f32[64, 64]) {\n"
      "  %p = matmul(%x, %w) : f32[64, 64]\n"
      "  %a = sin(%p) : f32[64, 64]\n"
      "  %b = exp(%a) : f32[64, 64]\n"
      "  %c = sin(%b) : f32[64, 64]\n"
      "  return %c\n"
      "}\n";
  const Partition parts = parts_of(text);
  CHECK(saved_names(parts) == Names{"x", "w", "p"});
  CHECK(parts.report.saved[2].why == "matmul is too costly to run again; for the gradient of %c, %b, %a");
  // A budget makes it run again.
  const Partition less = parts_of(text, {Strategy::MinimumCut, 0.7});
  CHECK(saved_names(less) == Names{"x", "w"});
  CHECK(less.report.recomputed[0].why == "costly, but the memory budget asks for it");
}

TEST_CASE("what is within a checkpoint runs again, but for random draws", "[jit][partition]") {
  const Partition parts = parts_of(
      "graph functional f(%x: f32[64, 64], parameter %w: f32[64, 64]) {\n"
      "  %p = matmul(%x, %w) : f32[64, 64]                # checkpoint\n"
      "  %d = dropout(%p, p=0.5, training=true) : f32[64, 64] # checkpoint\n"
      "  %a = sin(%d) : f32[64, 64]                       # checkpoint\n"
      "  %q = matmul(%a, %w) : f32[64, 64]                # checkpoint\n"
      "  %c = sin(%q) : f32[64, 64]                       # checkpoint\n"
      "  return %c\n"
      "}\n");
  const Names saved = saved_names(parts);
  CHECK(std::find(saved.begin(), saved.end(), "q") == saved.end());
  CHECK(std::find_if(parts.report.recomputed.begin(), parts.report.recomputed.end(), [](const auto& each) {
          return each.name == "q" && each.why == "costly, but within a checkpoint";
        }) != parts.report.recomputed.end());
  for (const Node& node : parts.backward.nodes) CHECK((node.is_constant() || !node.op->draws()));
}

TEST_CASE("what runs again does so right before it is read", "[jit][partition]") {
  const Partition parts = parts_of(
      "graph functional f(%x: f32[8, 8], parameter %w: f32[8, 8]) {\n"
      "  %p = matmul(%x, %w) : f32[8, 8]\n"
      "  %a = sin(%p) : f32[8, 8]\n"
      "  %q = matmul(%a, %w) : f32[8, 8]\n"
      "  %b = sin(%q) : f32[8, 8]\n"
      "  %r = matmul(%b, %w) : f32[8, 8]\n"
      "  return %r\n"
      "}\n");
  std::vector<std::string> order;
  for (const Node& node : parts.backward.nodes) {
    const std::string& name = parts.backward.values[static_cast<std::size_t>(node.outputs[0])].name;
    if (name == "a" || name == "b") order.push_back(name);
    if (node.op->name() == "matmul") order.emplace_back("matmul");
  }
  // The last product is differentiated first; what the first of the two sines gave is not there until then.
  CHECK(order ==
        std::vector<std::string>{"matmul", "b", "matmul", "matmul", "a", "matmul", "matmul", "matmul"});
}

TEST_CASE("a small part of what need not be kept is kept as a copy", "[jit][partition]") {
  const Partition parts = parts_of(
      "graph functional f(%x: f32[100, 8]) {\n"
      "  %r = select(%x, dim=0, index=3) : f32[8]\n"
      "  %y = sin(%r) : f32[8]\n"
      "  return %y\n"
      "}\n");
  REQUIRE(parts.report.saved.size() == 1);
  CHECK(parts.report.saved[0].is_copy);
  CHECK(parts.report.bytes_saved == 32);
  CHECK(parts.report.bytes_save_all == 3200);
}

TEST_CASE("an input that is written later is kept as it was", "[jit][partition]") {
  const Partition parts = parts_of(
      "graph captured f(%x: f32[4]) {\n"
      "  %y = sin(%x) : f32[4]\n"
      "  %z = mul_(%x, 2) : f32[4]\n"
      "  return %y\n"
      "}\n");
  REQUIRE(parts.report.saved.size() == 1);
  CHECK(parts.report.saved[0].is_copy);
  CHECK(parts.forward.effects.size() == 1);
  CHECK(parts.backward.effects.empty());
}

TEST_CASE("a long chain of cheap ops does not run again from its start", "[jit][partition]") {
  std::string text = "graph functional f(%x: f32[16]) {\n  %v0 = mul(%x, %x) : f32[16]\n";
  for (int i = 1; i < 40; ++i) {
    text += "  %v" + std::to_string(i) + " = sin(%v" + std::to_string(i - 1) + ") : f32[16]\n";
  }
  const Partition parts = parts_of(text + "  return %v39\n}\n");
  CHECK(saved_names(parts) == Names{"x", "v16", "v33"});
  CHECK(parts.report.bytes_save_all == 40 * 64);
}

}  // namespace kiln::partition_test

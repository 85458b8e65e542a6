// Passes on random programs: what the caller sees is the same before and after, to the bit.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <sstream>

#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/graph/verify.h"
#include "jit/passes/passes.h"
#include "jit/passes/run_recipe.h"
#include "tests/effort.h"
#include "tests/jit/graphs.h"
#include "tests/jit/programs.h"

namespace kiln::passes_test {

using namespace kiln::jit;

namespace {

using Change = std::function<Graph(const Graph&)>;

// What is wrong with a change of a program, empty when nothing is.
std::string fault_of(const Graph& program, const Change& change) {
  try {
    const Graph changed = change(program);
    const std::string fault = find_fault(changed);
    return fault.empty() ? jit::testing::difference(program, changed) : fault;
  } catch (const OpError& error) {
    // Refused in words, never wrong: what has no functional form.
    return error.kind() == ErrorKind::Capture ? "" : error.message();
  } catch (const InternalError& error) {
    return error.what();
  }
}

void check_programs(unsigned first, unsigned count, const Change& change) {
  for (unsigned seed = first; seed < first + count; ++seed) {
    const Graph program = jit::testing::random_program(seed);
    if (fault_of(program, change).empty()) continue;
    const Graph small =
        jit::testing::shrunk(program, [&](const Graph& each) { return !fault_of(each, change).empty(); });
    FAIL("seed " << seed << ": " << fault_of(small, change) << "\n"
                 << print_graph(small) << print_graph(change(small)));
  }
  SUCCEED(count << " programs");
}

Graph functional(const Graph& graph) { return functionalize(expand_views(graph)); }
Graph pipeline(const Graph& graph) {
  return run_recipe(recipes::kFewerSteps, run_recipe(recipes::kWithoutWrites, graph, {}, true), {}, true);
}

}  // namespace

TEST_CASE("4000 random programs do the same when functionalized", "[jit][passes]") {
  check_programs(0, 4000, functional);
}

TEST_CASE("random programs do the same after each pass on its own", "[jit][passes]") {
  check_programs(0, 1500, [](const Graph& graph) { return simplify(functional(graph)); });
  check_programs(1500, 1500, [](const Graph& graph) { return fold(functional(graph)); });
  check_programs(3000, 500, [](const Graph& graph) { return cse(functional(graph)); });
  check_programs(3500, 500, [](const Graph& graph) { return dce(functional(graph)); });
}

TEST_CASE("random programs do the same after the whole pipeline", "[jit][passes]") {
  check_programs(0, 1000, pipeline);
}

// By hand: KILN_SEEDS="first count" build/tests/test_jit "[soak]"
TEST_CASE("as many random programs as are asked for do the same after the whole pipeline", "[.soak]") {
  const char* asked = std::getenv("KILN_SEEDS");
  unsigned first = 0, count = 10000;
  if (asked != nullptr) std::istringstream(asked) >> first >> count;
  check_programs(first, count, functional);
  check_programs(first, count, pipeline);
}

TEST_CASE("random programs are rarely refused, and often written through views", "[jit][passes]") {
  int refused = 0, written = 0;
  for (unsigned seed = 0; seed < 500; seed += kiln::testing::kEvery) {
    try {
      const Graph graph = functional(jit::testing::random_program(seed));
      written += graph.effects.empty() ? 0 : 1;
      for (const Node& node : graph.nodes) CHECK_FALSE(node.writes());
    } catch (const OpError&) {
      ++refused;
    }
  }
  CHECK(refused < 25);
  CHECK(written > 150 / kiln::testing::kEvery);
}

TEST_CASE("bodies compute what their ops compute", "[jit][passes]") {
  int composites = 0;
  jit::testing::for_each_sample([&](const Op& op, const std::vector<Tensor>& inputs, const Graph& graph) {
    if (op.draws() || op.lowering != Lowering::Composite) return;
    const Graph small = decompose(graph);
    INFO(print_graph(small));
    REQUIRE(find_fault(small).empty());
    const std::vector<Tensor> arguments = jit::testing::present(inputs);
    const Tensors expected = evaluate(graph, arguments), actual = evaluate(small, arguments);
    for (std::size_t k = 0; k < expected.size(); ++k) CHECK(kiln::testing::same_bits(expected[k], actual[k]));
    composites += small == graph ? 0 : 1;
  });
  CHECK(composites > 60);
}

TEST_CASE("only composite ops give views beside view ops", "[jit][passes]") {
  jit::testing::for_each_sample([](const Op& op, const std::vector<Tensor>& inputs, const Graph& graph) {
    if (op.draws() || op.view != nullptr) return;
    const std::vector<Tensor> arguments = jit::testing::present(inputs);
    for (const Tensor& output : evaluate(graph, arguments)) {
      for (const Tensor& input : arguments) {
        if (!shares_storage(output, input)) continue;
        INFO(op.name());
        CHECK(op.lowering == Lowering::Composite);
      }
    }
  });
}

namespace {

// The ops that are left of a captured graph, in order.
std::string ops_of(std::string_view text) {
  std::string ops;
  for (const Node& node : dce(functional(parse_graph(text))).nodes)
    ops += (ops.empty() ? "" : " ") + op_text(node);
  return ops;
}

}  // namespace

TEST_CASE("a write through a view is the view's scatter", "[jit][passes]") {
  CHECK(ops_of("graph captured f(%x: f32[2, 2]) {\n"
               "  %y = clone(%x) : f32[2, 2]\n"
               "  %z = view(%y, shape=[-1]) : f32[4]\n"
               "  %w = add_(%z, 1) : f32[4]\n"
               "  return %y\n"
               "}\n") == "clone view add view");
  CHECK(ops_of("graph captured f(%x: f32[3, 3]) {\n"
               "  %y = clone(%x) : f32[3, 3]\n"
               "  %a = slice(%y, dim=0) : f32[3, 3]\n"
               "  %b = select(%a, dim=1, index=1) : f32[3]\n"
               "  %c = add_(%b, 1) : f32[3]\n"
               "  return %y\n"
               "}\n") == "clone slice select add select_scatter slice_scatter");
}

TEST_CASE("a write that nothing sees leaves nothing", "[jit][passes]") {
  CHECK(ops_of("graph captured f(%x: f32[2]) {\n"
               "  %y = clone(%x) : f32[2]\n"
               "  %z = add_(%y, 1) : f32[2]\n"
               "  %w = mul(%x, 2) : f32[2]\n"
               "  return %w\n"
               "}\n") == "mul");
}

TEST_CASE("a written argument is an effect, and keeps its dtype", "[jit][passes]") {
  CHECK(print_graph(dce(functional(parse_graph("graph captured f(%x: f32[s0, 2]) where s0 = 8 {\n"
                                               "  %r = select(%x, dim=0, index=0) : f32[2]\n"
                                               "  %y = ge_(%r, 0) : f32[2]\n"
                                               "  %z = mul(%x, 2) : f32[s0, 2]\n"
                                               "  return %z\n"
                                               "}\n")))) ==
        "graph functional f(%x: f32[s0, 2]) where s0 = 8 {\n"
        "  %r = select(%x, dim=0, index=0) : f32[2]\n"
        "  %r_1 = ge(%r, 0) : bool[2]\n"
        "  %0 = cast(%r_1, dtype=f32) : f32[2]\n"
        "  %1 = select_scatter(%x, %0, dim=0, index=0) : f32[s0, 2]\n"
        "  %z = mul(%1, 2) : f32[s0, 2]\n"
        "  return %z\n"
        "  write %x <- %1\n"
        "}\n");
}

TEST_CASE("without views, views are copies", "[jit][passes]") {
  const Graph graph = functionalize(parse_graph("graph captured f(%x: f32[2, 2]) {\n"
                                                "  %d = diagonal(%x) : f32[2]\n"
                                                "  return %d\n"
                                                "}\n"),
                                    Remove::MutationsAndViews);
  CHECK(op_text(graph.nodes[0]) == "diagonal_copy");
}

TEST_CASE("a pass that finds nothing to do copies nothing", "[jit][passes]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[4], %y: f32[4]) {\n"
      "  %a = exp(%x) : f32[4]\n"
      "  %b = view(%a, shape=[2, 2]) : f32[2, 2]\n"
      "  return %b, %a\n"
      "  write %y <- %a\n"
      "}\n");
  for (Graph (*const pass)(Graph) : {expand_views, decompose, fold, simplify, cse, narrow_writes, lift_views,
                                     inline_shifted, dce, reinplace}) {
    Graph given = graph;
    const Node* const nodes = given.nodes.data();
    const Graph made = pass(std::move(given));
    CHECK(made == graph);
    CHECK(made.nodes.data() == nodes);
  }
}

TEST_CASE("cse keeps tensors that the caller gets apart", "[jit][passes]") {
  const Graph graph =
      cse(parse_graph("graph functional f(%x: f32[2]) {\n"
                      "  %a = exp(%x) : f32[2]\n"
                      "  %b = exp(%x) : f32[2]\n"
                      "  %c = add(%a, %x) : f32[2]\n"
                      "  %d = add(%x, %b) : f32[2]\n"
                      "  %e = mul(%c, %d) : f32[2]\n"
                      "  %f = neg(%x) : f32[2]\n"
                      "  %g = neg(%x) : f32[2]\n"
                      "  return %e, %f, %g\n"
                      "}\n"));
  std::string ops;
  for (const Node& node : graph.nodes) ops += op_text(node) + " ";
  CHECK(ops == "exp add mul neg neg ");
}

TEST_CASE("dce keeps what draws, and what may raise for its elements", "[jit][passes]") {
  const Graph graph =
      dce(parse_graph("graph functional f(%n: i64[2], %x: f32[2], %i: i64[3]) {\n"
                      "  %a = rand(size=[2]) : f32[2]\n"
                      "  %b = remainder(%n, 3) : i64[2]\n"
                      "  %c = remainder(%x, 3) : f32[2]\n"
                      "  %d = index_select(%x, %i, dim=0) : f32[3]\n"
                      "  %e = exp(%x) : f32[2]\n"
                      "  return %x\n"
                      "}\n"));
  std::string ops;
  for (const Node& node : graph.nodes) ops += op_text(node) + " ";
  CHECK(ops == "rand remainder index_select ");
}

}  // namespace kiln::passes_test

// The table of passes and recipes, and what the runner makes of passes that are wrong.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/graph/verify.h"
#include "jit/loops/kernel_op.h"
#include "jit/passes/faults.h"
#include "jit/passes/run_recipe.h"
#include "jit/pipeline/fused.h"
#include "jit/runtime/prepared.h"
#include "tensor/functions.h"

namespace kiln::recipes_test {

using namespace kiln::jit;

namespace {

constexpr std::string_view kText =
    "graph functional f(%x: f32[s0, 4], %y: f32[s0, 4]) where s0 = 8 {\n"
    "  %a = mul(%x, %y) : f32[s0, 4]\n"
    "  %b = exp(%a) : f32[s0, 4]\n"
    "  %c = transpose(%b, dim0=0, dim1=1) : f32[4, s0]\n"
    "  %d = sum(%c, dim=[1]) : f32[4]\n"
    "  return %d\n"
    "}\n";

Graph fails(Graph, const PassOptions&) { throw InternalError("the test wants this"); }
Graph reads_too_far(Graph, const PassOptions&) { throw std::out_of_range("the test wants this"); }
// The type of a value is not what the rule gives.
Graph makes_nonsense(Graph graph, const PassOptions&) {
  graph.values.back().type.dtype = DType::F64;
  return graph;
}

std::string fault_of(const Recipe& recipe, const Graph& graph, bool verified) {
  try {
    run_recipe(recipe, graph, {}, verified);
  } catch (const PassFault& fault) {
    return std::string(fault.pass().name) + ": " + fault.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every recipe is of passes of the table, with a reason for each", "[jit][recipes]") {
  std::set<std::string_view> names;
  for (const Recipe* recipe : all_recipes()) {
    INFO(recipe->name);
    CHECK(names.insert(recipe->name).second);
    CHECK(find_recipe(recipe->name) == recipe);
    CHECK(!recipe->purpose.empty());
    CHECK(!recipe->steps.empty());
    for (const RecipeStep& each : recipe->steps) {
      INFO(each.pass->name);
      CHECK(find_pass(each.pass->name) == each.pass);
      CHECK(!each.why.empty());
    }
  }
  CHECK(find_recipe("none") == nullptr);
}

TEST_CASE("every pass is of a recipe", "[jit][recipes]") {
  std::set<std::string_view> names;
  for (const Pass& pass : passes()) {
    INFO(pass.name);
    CHECK(names.insert(pass.name).second);
    CHECK(!pass.summary.empty());
    CHECK(!reason_of(pass).empty());
  }
  CHECK(find_pass("none") == nullptr);
}

TEST_CASE("a graph is right after every pass of the fused recipe, and kept", "[jit][recipes]") {
  const Graph graph = parse_graph(kText);
  const std::vector<PassResult> kept = run_recipe_kept(recipes::kFused, graph, {}, true);
  REQUIRE(kept.size() == recipes::kFused.steps.size());
  for (std::size_t k = 0; k < kept.size(); ++k) {
    CHECK(kept[k].pass == recipes::kFused.steps[k].pass);
    CHECK(kept[k].seconds >= 0);
  }
  CHECK(print_graph(kept.back().graph) == print_graph(run_recipe(recipes::kFused, graph)));
}

TEST_CASE("groups and kernels without code are graphs that refuse to run", "[jit][recipes]") {
  const Graph graph = parse_graph(kText);
  const Dim sizes[] = {8, 4};
  const Tensor inputs[] = {ops::ones(sizes), ops::ones(sizes)};
  const Graph outlined = run_recipe(recipes::kOutline, graph, {}, true);
  for (const std::string_view until : {"group", "lower"}) {
    Graph made = graph;
    for (const RecipeStep& each : recipes::kOutline.steps) {
      made = run_pass(*each.pass, std::move(made), {}, true);
      if (each.pass->name == until) break;
    }
    INFO(print_graph(made));
    CHECK_THROWS_AS(evaluate(made, inputs), OpError);
    CHECK_THROWS_AS(Executable::make(made), OpError);
    // What was done is not done again, and the way goes on from there.
    CHECK(run_pass(*find_pass("group"), made, {}, true) == made);
    const Graph whole = run_pass(*find_pass("compile"), run_pass(*find_pass("lower"), made));
    CHECK(evaluate(whole, inputs)[0].is_same(evaluate(graph, inputs)[0]) == false);
    CHECK(evaluate(whole, inputs)[0].data<float>()[3] == evaluate(graph, inputs)[0].data<float>()[3]);
  }
  CHECK(kernels_of(outlined).size() == kernels_of(fuse(graph).graph).size());
}

TEST_CASE("what a pass does wrong is told by its name", "[jit][recipes]") {
  const Graph graph = parse_graph(kText);
  for (const bool verified : {false, true}) {
    const ReplacedPass broken("cse", fails);
    CHECK(fault_of(recipes::kFewerSteps, graph, verified) ==
          "cse: the pass `cse` is wrong: the test wants this");
  }
  {
    const ReplacedPass broken("fold", reads_too_far);
    CHECK(fault_of(recipes::kFused, graph, false) == "fold: the pass `fold` is wrong: the test wants this");
  }
  {
    const ReplacedPass broken("simplify", makes_nonsense);
    CHECK(fault_of(recipes::kFewerSteps, graph, true).starts_with("simplify: the pass `simplify` is wrong"));
  }
  CHECK(fault_of(recipes::kFewerSteps, graph, true).empty());
}

TEST_CASE("a graph that was wrong before is no pass's fault", "[jit][recipes]") {
  const Graph wrong = makes_nonsense(parse_graph(kText), {});
  try {
    run_recipe(recipes::kFewerSteps, wrong, {}, true);
    FAIL("it was let through");
  } catch (const PassFault&) {
    FAIL("a pass is blamed");
  } catch (const InternalError& error) {
    CHECK(std::string(error.what()).find("before the recipe `fewer_steps`") != std::string::npos);
  }
}

TEST_CASE("a graph whose pass is wrong runs op by op, and is noted with a program", "[jit][recipes]") {
  const Graph graph = parse_graph(kText);
  const Dim sizes[] = {8, 4};
  const Tensor inputs[] = {ops::ones(sizes), ops::ones(sizes)};
  const float expected = evaluate(graph, inputs)[0].data<float>()[0];
  const auto run = [&](const Prepared& made) {
    return made.run->run(inputs, {{"s0", 8}})[0].data<float>()[0];
  };
  take_faults();
  for (const std::string_view name : {"decompose", "lift_views", "group", "lower", "compile", "reinplace"}) {
    INFO(name);
    const ReplacedPass broken(name, fails);
    CHECK(run(prepared(graph, {.fused = true})) == expected);
    const std::vector<Fault> faults = take_faults();
    // Op by op, too, where that pass is part of it.
    REQUIRE(faults.size() == (name == "reinplace" ? 2 : 1));
    CHECK(faults[0].message.find("`" + std::string(name) + "` is wrong: the test wants this") !=
          std::string::npos);
    CHECK(faults[0].message.starts_with("f: its ops run one by one"));
    CHECK(faults[0].program.find("g = parse_graph(\"\"\"graph functional f(") != std::string::npos);
    CHECK(
        faults[0].program.ends_with("x0 = zeros([8, 4], dtype=f32)\nx1 = zeros([8, 4], dtype=f32)\n"
                                    "print(check(g, x0, x1, backend=\"fused\"))\n"));
  }
  CHECK(!has_faults());
  CHECK(run(prepared(graph, {.fused = true})) == expected);
  CHECK(!has_faults());
}

}  // namespace kiln::recipes_test

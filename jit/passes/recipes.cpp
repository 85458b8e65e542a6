#include "jit/passes/recipes.h"

#include <algorithm>
#include <array>

#include "jit/passes/passes.h"

namespace kiln::jit {
namespace {

template <Graph (*pass)(Graph)>
Graph plain(Graph graph, const PassOptions&) {
  return pass(std::move(graph));
}
Graph functionalized(Graph graph, const PassOptions& options) { return functionalize(graph, options.remove); }

constexpr Pass kPasses[] = {
    {"expand_views", "composite ops that give views become the views that they are", plain<expand_views>},
    {"functionalize", "no writes are left: results are values, writes to inputs are effects", functionalized},
    {"decompose", "composite ops become the smaller ops of their bodies", plain<decompose>},
    {"fold", "what depends on constants alone is computed now", plain<fold>},
    {"simplify", "no views that lead back, no copies that nobody needs, no `x * 1`", plain<simplify>},
    {"cse", "one node of several that compute the same", plain<cse>},
    {"dce", "without nodes whose results nothing needs", plain<dce>},
    {"open_reductions", "reductions of rows become the smaller ones that a kernel of these rows takes in",
     plain<open_reductions>},
    {"narrow_writes", "what is written to a small part of an argument is written to a view of it",
     plain<narrow_writes>},
    {"lift_views", "views of what kernels compute become the computation of views", plain<lift_views>},
    {"inline_shifted", "values that kernels read at shifted places are computed there, where that is cheaper",
     plain<inline_shifted>},
    {"group", "nodes that one kernel computes become one node", plain<group>},
    {"lower", "groups become loops over elements, and read through views", plain<lower_groups>},
    {"start_early", "collectives begin as soon as their operands are there", plain<start_early>},
    {"wait_late", "what a collective gives is waited for when it is needed, one after the other",
     plain<wait_late>},
    {"bucket", "collectives of one kind that begin one after the other begin as one", plain<bucket>},
    {"compile", "loops become machine code", plain<compile_kernels>},
    {"reinplace",
     "ops write over operands that are read for the last time, and parts of arguments are written alone",
     plain<reinplace>},
};

// There is no such pass: no constant.
consteval const Pass* pass(std::string_view name) {
  for (const Pass& each : kPasses) {
    if (each.name == name) return &each;
  }
  throw "a recipe names a pass that is not in the table";
}

template <std::size_t n, std::size_t m>
constexpr std::array<RecipeStep, n + m> joined(const std::array<RecipeStep, n>& first,
                                               const std::array<RecipeStep, m>& then) {
  std::array<RecipeStep, n + m> all{};
  std::copy(first.begin(), first.end(), all.begin());
  std::copy(then.begin(), then.end(), all.begin() + n);
  return all;
}

// ---- Steps ----

constexpr std::array<RecipeStep, 1> kViewSteps{{
    {pass("expand_views"), "before functionalization, which must see every view"},
}};
constexpr auto kWriteSteps =
    joined(kViewSteps, std::array<RecipeStep, 1>{{
                           {pass("functionalize"),
                            "first of what changes the program, so that no other pass must ask what a write "
                            "changes"},
                       }});
constexpr std::array<RecipeStep, 1> kNeededSteps{{
    {pass("dce"), "after all others, for what they left behind"},
}};
constexpr auto kFunctionalSteps = joined(kWriteSteps, kNeededSteps);

constexpr auto kSharedSteps =
    joined(std::array<RecipeStep, 1>{{
               {pass("cse"), "after partition: what the program computes twice is computed again once"},
           }},
           kNeededSteps);

constexpr auto kReducedSteps =
    joined(std::array<RecipeStep, 4>{{
               {pass("decompose"), "before cse and fusion, which see through small ops only"},
               {pass("fold"), "before simplification, which knows the numbers that tensors are filled with"},
               {pass("simplify"), "before cse, which finds more that is equal once the detours are gone"},
               {pass("cse"), "after decomposition, whose bodies repeat each other's steps"},
           }},
           kNeededSteps);

constexpr std::array<RecipeStep, 1> kOverSteps{{
    {pass("reinplace"),
     "last: the others need not ask what lies where, and kernels are found in graphs without writes"},
}};
constexpr auto kOpByOpSteps = joined(kNeededSteps, kOverSteps);
constexpr auto kBackwardSteps =
    joined(std::array<RecipeStep, 1>{{
               {pass("simplify"),
                "first, since a gradient that is a view of what nobody else has could not be added to in "
                "place"},
           }},
           kOpByOpSteps);

constexpr std::array<RecipeStep, 10> kOutlineSteps{{
    {pass("open_reductions"), "before groups are found, which take in the smaller reductions"},
    {pass("narrow_writes"),
     "after what changes effects, since other passes know arguments as targets, not views of them"},
    {pass("lift_views"), "before groups are found: a view between two nodes keeps them apart"},
    {pass("inline_shifted"), "after views have moved: those that are left are read of what is in memory"},
    {pass("group"), "after all that changes what is computed, and before there are loops"},
    {pass("lower"), "after groups are found: each has the axes of its loops"},
    {pass("dce"), "after lowering, which leaves the views behind that kernels read through"},
    {pass("start_early"), "after kernels are known, since they decide when an operand is there"},
    {pass("wait_late"), "after starts are in order, which waits follow"},
    {pass("bucket"), "after waits have moved out from between starts, which then stand side by side"},
}};
constexpr auto kKernelSteps = joined(
    kOutlineSteps, std::array<RecipeStep, 1>{{
                       {pass("compile"), "after all loops are known, so that equal ones are compiled once"},
                   }});
constexpr auto kFusedSteps = joined(joined(kReducedSteps, kKernelSteps), kOverSteps);

}  // namespace

std::span<const Pass> passes() { return kPasses; }

const Pass* find_pass(std::string_view name) {
  const auto* found = std::ranges::find(kPasses, name, &Pass::name);
  return found == std::end(kPasses) ? nullptr : found;
}

namespace recipes {

constinit const Recipe kViews{"views", "of captured graphs: what may give a view is the view", kViewSteps};
constinit const Recipe kWithoutWrites{"without_writes", "of captured graphs: no writes are left",
                                      kWriteSteps};
constinit const Recipe kFunctional{"functional", "likewise, without what nothing needs", kFunctionalSteps};
constinit const Recipe kNeeded{"needed", "of functional graphs: without what nothing needs", kNeededSteps};
constinit const Recipe kShared{"shared", "of backward graphs, when they are cut off", kSharedSteps};
constinit const Recipe kFewerSteps{"fewer_steps", "of functional graphs: the same in fewer steps",
                                   kReducedSteps};
constinit const Recipe kOverwriting{"overwriting", "of bodies of functions with derivatives of their own",
                                    kOverSteps};
constinit const Recipe kOpByOp{"op_by_op", "of functional graphs that run without kernels", kOpByOpSteps};
constinit const Recipe kOpByOpBackward{"op_by_op_backward", "likewise, of backward graphs", kBackwardSteps};
constinit const Recipe kOutline{"outline", "of functional graphs: kernels without code, to be looked at",
                                kOutlineSteps};
constinit const Recipe kKernels{"kernels", "of functional graphs: nodes become kernels", kKernelSteps};
constinit const Recipe kFused{"fused", "of functional graphs: what the fused backend runs", kFusedSteps};

}  // namespace recipes

namespace {

constexpr const Recipe* kRecipes[] = {
    &recipes::kViews,      &recipes::kWithoutWrites, &recipes::kFunctional,     &recipes::kNeeded,
    &recipes::kFewerSteps, &recipes::kOutline,       &recipes::kKernels,        &recipes::kFused,
    &recipes::kOpByOp,     &recipes::kShared,        &recipes::kOpByOpBackward, &recipes::kOverwriting,
};

bool has(const Recipe& recipe, const Pass& pass) {
  return std::ranges::any_of(recipe.steps, [&pass](const RecipeStep& each) { return each.pass == &pass; });
}

}  // namespace

std::span<const Recipe* const> all_recipes() { return kRecipes; }

const Recipe* find_recipe(std::string_view name) {
  const auto* found = std::ranges::find(kRecipes, name, [](const Recipe* each) { return each->name; });
  return found == std::end(kRecipes) ? nullptr : *found;
}

std::string_view reason_of(const Pass& pass) {
  for (const Recipe* recipe : kRecipes) {
    for (const RecipeStep& each : recipe->steps) {
      if (each.pass == &pass) return each.why;
    }
  }
  return "";
}

std::vector<const Recipe*> recipes_to(const Pass& pass) {
  std::vector<const Recipe*> way;
  for (const Recipe* recipe : {&recipes::kWithoutWrites, &recipes::kFewerSteps, &recipes::kKernels}) {
    way.push_back(recipe);
    if (has(*recipe, pass)) return way;
  }
  way.pop_back();  // one that is of graphs without kernels
  return way;
}

}  // namespace kiln::jit

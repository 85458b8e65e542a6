// Owns which passes there are, and the recipes: for each kind of graph the passes that it goes through, in
// order, each with why it sits where it does. No other file lists passes; they name a recipe and hand it to
// the runner (jit/passes/run_recipe.h).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "jit/graph/graph.h"
#include "jit/passes/functionalize.h"

namespace kiln::jit {

// What a few passes ask beside the graph.
struct PassOptions {
  Remove remove = Remove::Mutations;  // what functionalization leaves behind
};

struct Pass {
  std::string_view name;
  std::string_view summary;  // what it does, for the prompt
  Graph (*run)(Graph, const PassOptions&);
};

// All passes, each after those that it follows in most recipes.
std::span<const Pass> passes();
const Pass* find_pass(std::string_view name);  // null when there is none

struct RecipeStep {
  const Pass* pass;
  std::string_view why;  // it sits there
};
struct Recipe {
  std::string_view name;
  std::string_view purpose;  // of which graphs it is, and what comes of them
  std::span<const RecipeStep> steps;
};

namespace recipes {
extern const Recipe kViews;          // captured: composite ops that give views are the views
extern const Recipe kWithoutWrites;  // captured to functional
extern const Recipe kFunctional;     // likewise, without what nothing needs
extern const Recipe kNeeded;         // functional, without what nothing needs
extern const Recipe kShared;         // a backward graph in which nothing is computed twice
extern const Recipe kFewerSteps;     // functional: the same in fewer steps
extern const Recipe kOverwriting;    // functional: ops write over operands that are not read again
extern const Recipe kOpByOp;         // what runs without kernels
extern const Recipe kOpByOpBackward;
extern const Recipe kOutline;  // functional to kernels without code, for those who look at loops
extern const Recipe kKernels;  // functional to kernels
extern const Recipe kFused;    // functional to what the fused backend runs
}  // namespace recipes

std::span<const Recipe* const> all_recipes();
const Recipe* find_recipe(std::string_view name);  // null when there is none

// Why a pass sits where it does, in the first recipe that has it.
std::string_view reason_of(const Pass& pass);
// The recipes that people look through, one after the other, to see what a captured graph has become when it
// comes to the pass.
std::vector<const Recipe*> recipes_to(const Pass& pass);

}  // namespace kiln::jit

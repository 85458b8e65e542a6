// Owns running passes: the one place where a pass runs, by its name, is timed, kept and verified.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/passes/recipes.h"
#include "tensor/error.h"

namespace kiln::jit {

// A pass failed, or what it made is wrong: a mistake of ours, and nothing that the program did.
class PassFault : public InternalError {
 public:
  PassFault(const Pass& pass, std::string message) : InternalError(std::move(message)), pass_(&pass) {}
  const Pass& pass() const { return *pass_; }

 private:
  const Pass* pass_;
};

// Is every graph verified (jit/graph/verify.h), before the first pass of a recipe and after each? In debug
// and sanitizer builds, and where the environment says KILN_VERIFY=1 (0: nowhere).
bool verifies_passes();

// Throws OpError for what has no such form or was interrupted, NoCompiler, and PassFault.
Graph run_pass(const Pass& pass, Graph graph, const PassOptions& options = {},
               bool verified = verifies_passes());
// All passes of the recipe. Throws as they do, and InternalError when the graph was wrong before.
Graph run_recipe(const Recipe& recipe, Graph graph, const PassOptions& options = {},
                 bool verified = verifies_passes());

// Likewise, with what each made and how long that took, for those who look.
struct PassResult {
  const Pass* pass;
  Graph graph;
  double seconds;
};
std::vector<PassResult> run_recipe_kept(const Recipe& recipe, Graph graph, const PassOptions& options = {},
                                        bool verified = verifies_passes());

// While it lives, another function runs in place of a pass: for tests of what becomes of one that is wrong.
class ReplacedPass {
 public:
  ReplacedPass(std::string_view name, Graph (*run)(Graph, const PassOptions&));
  ~ReplacedPass();
  ReplacedPass(const ReplacedPass&) = delete;
  ReplacedPass& operator=(const ReplacedPass&) = delete;
};

}  // namespace kiln::jit

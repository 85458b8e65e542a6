#include "jit/passes/run_recipe.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <stdexcept>

#include "jit/graph/verify.h"
#include "jit/passes/no_compiler.h"
#include "tensor/timeline.h"

namespace kiln::jit {
namespace {

using Run = Graph (*)(Graph, const PassOptions&);

std::atomic<const Pass*> replaced{nullptr};
std::atomic<Run> replacement{nullptr};

Run function_of(const Pass& pass) {
  return replaced.load(std::memory_order_acquire) == &pass ? replacement.load() : pass.run;
}

// Calls f. What goes wrong in it, and is not of the program, is the pass's.
template <class F>
void blaming(const Pass& pass, const F& f) {
  try {
    f();
  } catch (const NoCompiler&) {
    throw;
  } catch (const InternalError& error) {
    throw PassFault(pass, fmt::format("the pass `{}` is wrong: {}", pass.name, error.what()));
  } catch (const std::length_error&) {  // memory, as std::bad_alloc
    throw;
  } catch (const std::logic_error& error) {
    throw PassFault(pass, fmt::format("the pass `{}` is wrong: {}", pass.name, error.what()));
  }
}

// Gives each pass and what it made to `look`, with the seconds.
template <class Look>
Graph run_steps(const Recipe& recipe, Graph graph, const PassOptions& options, bool verified,
                const Look& look) {
  if (verified) verify(graph, fmt::format("what comes before the recipe `{}`", recipe.name));
  for (const RecipeStep& step : recipe.steps) {
    const timeline::Span span(timeline::Kind::Compile, step.pass->name);
    const auto start = std::chrono::steady_clock::now();
    graph = run_pass(*step.pass, std::move(graph), options, verified);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    look(*step.pass, graph, took.count());
  }
  return graph;
}

bool verifies_by_default() {
#ifdef KILN_VERIFIES_PASSES
  return true;
#else
  return false;
#endif
}

}  // namespace

bool verifies_passes() {
  static const bool verifies = [] {
    const char* const said = std::getenv("KILN_VERIFY");
    return said == nullptr || *said == '\0' ? verifies_by_default() : std::string_view(said) != "0";
  }();
  return verifies;
}

Graph run_pass(const Pass& pass, Graph graph, const PassOptions& options, bool verified) {
  Graph made;
  blaming(pass, [&] {
    made = function_of(pass)(std::move(graph), options);
    if (verified) verify(made, fmt::format("`{}`", pass.name));
  });
  return made;
}

Graph run_recipe(const Recipe& recipe, Graph graph, const PassOptions& options, bool verified) {
  return run_steps(recipe, std::move(graph), options, verified, [](const Pass&, const Graph&, double) {});
}

std::vector<PassResult> run_recipe_kept(const Recipe& recipe, Graph graph, const PassOptions& options,
                                        bool verified) {
  std::vector<PassResult> kept;
  run_steps(recipe, std::move(graph), options, verified,
            [&kept](const Pass& pass, const Graph& made, double seconds) {
              kept.push_back({&pass, made, seconds});
            });
  return kept;
}

ReplacedPass::ReplacedPass(std::string_view name, Run run) {
  const Pass* const pass = find_pass(name);
  if (pass == nullptr) throw InternalError("there is no pass '" + std::string(name) + "'");
  replacement.store(run);
  replaced.store(pass, std::memory_order_release);
}
ReplacedPass::~ReplacedPass() { replaced.store(nullptr); }

}  // namespace kiln::jit

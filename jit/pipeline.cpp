#include "jit/pipeline.h"

#include <chrono>

#include "jit/passes/passes.h"
#include "jit/verify.h"
#include "tensor/error.h"

namespace kiln::jit {
namespace {

Graph functionalize_mutations(Graph graph) { return functionalize(graph, Remove::Mutations); }

constexpr Pass kPasses[] = {
    {"expand_views", "composite ops that give views become the views that they are",
     "before functionalization, which must see every view", expand_views},
    {"functionalize", "no writes are left: results are values, writes to inputs are effects",
     "first of what changes the program, so that no other pass must ask what a write changes",
     functionalize_mutations},
    {"decompose", "composite ops become the smaller ops of their bodies",
     "before cse and fusion, which see through small ops only", decompose},
    {"fold", "what depends on constants alone is computed now",
     "before simplification, which knows the numbers that tensors are filled with", fold},
    {"simplify", "no views that lead back, no copies that nobody needs, no `x * 1`",
     "before cse, which finds more that is equal once the detours are gone", simplify},
    {"cse", "one node of several that compute the same",
     "after decomposition, whose bodies repeat each other's steps", cse},
    {"dce", "without nodes whose results nothing needs", "after all others, for what they left behind", dce},
    {"reinplace",
     "ops write over operands that are read for the last time, and parts of arguments are written alone",
     "last, of graphs that run op by op: the others need not ask what lies where, and kernels are found in "
     "graphs "
     "without writes",
     reinplace, true},
};

}  // namespace

std::span<const Pass> passes() { return kPasses; }

const Pass* find_pass(std::string_view name) {
  for (const Pass& each : kPasses) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

namespace {

const Pass& pass_named(std::string_view name) {
  const Pass* pass = find_pass(name);
  if (pass == nullptr) throw InternalError("there is no pass '" + std::string(name) + "'");
  return *pass;
}

std::vector<std::string_view> names_before_kernels() {
  std::vector<std::string_view> names;
  for (const Pass& each : kPasses) {
    if (!each.is_of_ops) names.push_back(each.name);
  }
  return names;
}

}  // namespace

std::vector<StageResult> run_passes(const Graph& graph, std::span<const std::string_view> names,
                                    bool checked) {
  if (checked) verify(graph, "capture");
  std::vector<StageResult> results;
  for (const std::string_view name : names) {
    const Pass& pass = pass_named(name);
    const auto start = std::chrono::steady_clock::now();
    Graph made = pass.run(results.empty() ? graph : results.back().graph);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (checked) verify(made, name);
    results.push_back({&pass, std::move(made), took.count()});
  }
  return results;
}

std::vector<StageResult> run_pipeline(const Graph& graph, bool checked) {
  return run_passes(graph, names_before_kernels(), checked);
}

Graph passed(Graph graph, std::span<const std::string_view> names) {
  for (const std::string_view name : names) graph = pass_named(name).run(std::move(graph));
  return graph;
}

namespace {

// Of the passes, those up to "functionalize".
constexpr std::size_t kUntilFunctional = 2;
static_assert(kPasses[kUntilFunctional - 1].name == "functionalize");

}  // namespace

Graph without_writes(Graph captured) {
  const std::vector<std::string_view> names = names_before_kernels();
  return passed(std::move(captured), std::span(names).first(kUntilFunctional));
}
Graph before_kernels(Graph functional) {
  const std::vector<std::string_view> names = names_before_kernels();
  return passed(std::move(functional), std::span(names).subspan(kUntilFunctional));
}

}  // namespace kiln::jit

#include "repl/page/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "jit/graph/diff.h"
#include "jit/loops/code_line.h"
#include "jit/passes/no_compiler.h"
#include "jit/passes/run_recipe.h"
#include "repl/cost_text.h"
#include "repl/difference_view.h"
#include "repl/graph_view.h"
#include "repl/units.h"

namespace kiln::repl {
namespace {

// As a compiled call does; where there is no compiler, up to the loops.
std::vector<const jit::Recipe*> recipes_of(const jit::Graph& graph, bool compiles) {
  std::vector<const jit::Recipe*> recipes;
  if (graph.stage == jit::Stage::Captured) recipes.push_back(&jit::recipes::kWithoutWrites);
  if (compiles) {
    recipes.push_back(&jit::recipes::kFused);
  } else {
    recipes.push_back(&jit::recipes::kFewerSteps);
    recipes.push_back(&jit::recipes::kOutline);
  }
  return recipes;
}

void add_steps(std::vector<PageStep>& steps, const jit::Recipe& recipe, jit::Graph& graph) {
  std::vector<jit::PassResult> results = jit::run_recipe_kept(recipe, graph);
  for (std::size_t k = 0; k < results.size(); ++k) {
    jit::PassResult& each = results[k];
    steps.push_back({std::string(each.pass->name), std::string(each.pass->summary),
                     std::string(recipe.steps[k].why), each.seconds, each.graph.nodes.size(),
                     graph == each.graph ? "" : changes_in(jit::diff_graphs(graph, each.graph))});
    graph = std::move(each.graph);
  }
}

// What passes of the program make of it, as one step.
void add_edit(std::vector<PageStep>& steps, const interp::CapturedGraph& part, jit::Graph& graph) {
  const auto start = std::chrono::steady_clock::now();
  jit::Graph edited = part.edit(graph);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  steps.push_back({"passes of the program", "what `jit` was told to do to the graph",
                   "before all that makes kernels of it", took.count(), edited.nodes.size(),
                   graph == edited ? "" : changes_in(jit::diff_graphs(graph, edited))});
  graph = std::move(edited);
}

LineId line_of_result(const PageTable& table, std::string_view name) {
  for (const PageNode& each : table.nodes) {
    if (std::ranges::find(each.results, name) != each.results.end()) return each.line;
  }
  return -1;
}

}  // namespace

PagePasses pass_steps(std::string title, const interp::CapturedGraph& part) {
  PagePasses passes{std::move(title), {}};
  for (const bool compiles : {true, false}) {
    jit::Graph now = part.graph;
    passes.steps.clear();
    try {
      for (const jit::Recipe* const recipe : recipes_of(part.graph, compiles)) {
        add_steps(passes.steps, *recipe, now);
        if (recipe == &jit::recipes::kWithoutWrites && part.edit) add_edit(passes.steps, part, now);
      }
      return passes;
    } catch (const jit::NoCompiler&) {  // seen up to the loops then
    }
  }
  return passes;
}

PageKernels kernel_rows(const jit::Graph& fused, Inputs arguments, const PageTable& table) {
  PageKernels kernels;
  for (const jit::NodeCost& cost : jit::measure(fused, arguments)) {
    const CostText text = cost_text(cost);
    const auto node = static_cast<std::size_t>(cost.node - fused.nodes.data());
    kernels.rows.push_back({text.kernel, text.ops, text.bytes, text.flops, text.time, text.roof, cost.share,
                            table.nodes[node].line});
  }
  return kernels;
}

PageCut saved_rows(const jit::PartitionReport& report, const PageTable& joint) {
  const auto bytes = [](std::int64_t count) { return bytes_text(static_cast<std::size_t>(count)); };
  PageCut cut;
  cut.summary =
      fmt::format("{} where the tape would keep {}", bytes(report.bytes_saved), bytes(report.bytes_save_all));
  for (const jit::SavedValue& each : report.saved) {
    const std::string name = "%" + each.name;
    cut.rows.push_back({name, bytes(each.bytes) + (each.is_copy ? ", a copy" : ""), each.why, true,
                        line_of_result(joint, name)});
  }
  for (const std::string& each : report.sizes)
    cut.rows.push_back({"size " + each, "", "no tensor shows it", true, -1});
  for (const jit::Recomputation& each : report.recomputed) {
    const std::string name = "%" + each.name;
    cut.rows.push_back({name, bytes(each.bytes), each.why, false, line_of_result(joint, name)});
  }
  return cut;
}

std::vector<PageNote> notes_on(Session& session, const interp::Value& function,
                               const interp::host::CapturedCall& call) {
  std::vector<PageNote> notes, assumed;
  const std::size_t graphs = call.graphs().size();
  std::size_t number = 0;
  for (const interp::CapturedGraph& each : call.parts) {
    if (interp::host::has_graph(each)) {
      ++number;
      const std::string heading = graphs > 1 ? fmt::format("assumed of graph {}", number) : "assumed";
      if (each.guards.empty()) assumed.push_back({heading, "nothing"});
      for (const std::string& guard : each.guards) assumed.push_back({heading, guard});
    }
    if (each.break_reason.empty()) continue;
    const std::string place =
        each.break_file.empty() ? "" : fmt::format("{}:{}: ", each.break_file, each.break_line);
    const std::string source = source_line(session, each.break_file, each.break_line);
    notes.push_back({"breaks", place + each.break_reason + (source.empty() ? "" : " | " + source)});
  }
  if (notes.empty()) notes.push_back({"breaks", "none: the call is one graph"});
  notes.push_back({"earlier calls", interp::why(session.interpreter(), function)});
  notes.insert(notes.end(), assumed.begin(), assumed.end());
  return notes;
}

}  // namespace kiln::repl

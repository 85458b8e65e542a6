#include "repl/page/make_page.h"

#include <fmt/format.h>

#include "interpreter/host/gradient_run.h"
#include "interpreter/values/natives.h"
#include "jit/graph/evaluate.h"
#include "jit/graph/lineage.h"
#include "jit/passes/no_compiler.h"
#include "repl/page/facts.h"
#include "repl/page/source_table.h"
#include "repl/page/tables.h"
#include "repl/page/tensor_paths.h"
#include "repl/page/value_summary.h"
#include "tensor/autograd.h"
#include "tensor/generator_scope.h"
#include "tensor/interrupt.h"

namespace kiln::repl {
namespace {

namespace host = interp::host;
using interp::CapturedGraph;

// The stage, or nothing where the graph has no such one, or there is no compiler to make it.
std::optional<host::StageMade> made_stage(std::string_view name, const CapturedGraph& captured,
                                          jit::Remove remove = jit::Remove::Mutations) {
  try {
    return host::stage_made(host::stage_named(name), captured, remove);
  } catch (const OpError& error) {
    if (error.kind() == ErrorKind::Interrupted) throw;
    return std::nullopt;
  } catch (const lang::UserError& error) {
    if (error.diagnostic().kind != "CaptureError") throw;  // of a pass of the program, or Ctrl-C
    return std::nullopt;
  } catch (const jit::NoCompiler&) {
    return std::nullopt;
  }
}

// The tables and facts of one stretch between breaks.
class Stretch {
 public:
  Stretch(CallPage& page, std::string of, const CapturedGraph& captured, jit::Remove remove)
      : page_(page), of_(std::move(of)), captured_(captured), remove_(remove) {}

  void run(const SourceLines& source) {
    Ancestry lines{source.empty() ? -1 : 0};
    for (const jit::Node& node : captured_.graph.nodes) {
      const auto found = source.find({node.place.file.get(), node.place.line});
      lines.lines.push_back(found == source.end() ? -1 : found->second);
    }
    const Ancestry captured = add_captured(page_, of_, captured_.graph, lines);
    functional(captured);
    const std::vector<Ancestry> parts = gradients(captured);
    std::vector<CapturedGraph> runs = host::what_runs(captured_);
    if (runs.size() > 1 && parts.empty()) runs = {captured_};
    const bool is_pair = runs.size() > 1;
    for (std::size_t k = 0; k < runs.size(); ++k) {
      if (is_pair) replay(runs[k].graph, runs[k].arguments, static_cast<std::size_t>(parts[k].table));
      jit::number_nodes(runs[k].graph);
      run_part(title(!is_pair ? ""
                     : k == 0 ? "forward"
                              : "backward"),
               runs[k], is_pair ? parts[k] : captured);
    }
  }

 private:
  static std::string joined(const std::string& of, std::string_view what) {
    return of.empty() || what.empty() ? of + std::string(what) : fmt::format("{}, {}", of, what);
  }
  std::string title(std::string_view of) const { return joined(of_, of); }

  void functional(const Ancestry& captured) {
    if (const auto made = made_stage("functional", captured_, remove_)) {
      const Ancestry lines = add_graph(page_, "functional", of_, made->graph, captured);
      if (host::wants_no_gradient(captured_))
        replay(made->graph, captured_.given, static_cast<std::size_t>(lines.table));
    }
  }

  // Of gradients that are asked for, or that could be. Gives what is made of forward and backward graphs.
  std::vector<Ancestry> gradients(const Ancestry& captured) {
    const bool is_asked = !host::wants_no_gradient(captured_);
    if (captured_.differentiated && !is_asked) return {};
    const std::string as_if = is_asked ? "" : "as if all floats required gradients";
    try {
      const jit::GradientGraphs made = host::gradients_of(captured_);
      const Ancestry joint = add_graph(page_, "joint", title(as_if), made.joint.graph, captured);
      const std::size_t table = page_.tables.size() - 1;
      std::vector<Ancestry> parts;
      parts.push_back(add_graph(page_, "forward", title(as_if), made.parts.forward, joint));
      parts.push_back(add_graph(page_, "backward", title(as_if), made.parts.backward, joint));
      PageCut cut = saved_rows(made.parts.report, page_.tables[table]);
      cut.title = title(as_if);
      const std::string why = host::left_to_the_tape(captured_);
      if (!why.empty()) cut.summary = "all that rules read is kept, its gradients run op by op: " + why;
      page_.cuts.push_back(std::move(cut));
      return parts;
    } catch (const OpError&) {  // there is no graph of its gradients
      check_interrupt();
      return {};
    }
  }

  // What each node of a graph gave, beside its line. The graph runs once more, without its effects.
  void replay(jit::Graph graph, Inputs arguments, std::size_t table_number) {
    graph = jit::at_hints(std::move(graph));
    graph.effects.clear();
    const GradMode off(false);
    const GeneratorScope as_in_the_call(captured_.generator);
    PageTable& table = page_.tables[table_number];
    std::size_t next = 0;
    try {
      jit::evaluate(graph, arguments, [&](const jit::Node&, const Tensors& results) {
        const LineId line = table.nodes[next++].line;
        std::string& text = table.lines[static_cast<std::size_t>(line - table.first)].value;
        for (const Tensor& each : results) text += (text.empty() ? "" : "; ") + value_summary(each);
      });
    } catch (const OpError&) {  // an op that fails in this call: what came before it has its values
      check_interrupt();
    }
  }

  void run_part(const std::string& of, const CapturedGraph& part, const Ancestry& from) {
    page_.passes.push_back(pass_steps(of, part));
    CapturedGraph fused = part;
    const std::optional<host::StageMade> compiled = made_stage("fused", part);
    const auto outlined = compiled ? compiled : made_stage("loops", part);
    if (!outlined) return;
    fused.graph = outlined->graph;
    const Ancestry members = add_fused(page_, of, fused.graph, from);
    if (compiled && !part.arguments.empty()) {
      page_.kernels.push_back(kernel_rows(fused.graph, part.arguments, page_.tables.back()));
      page_.kernels.back().title = of;
    }
    LoopsTable loops;
    if (const auto made = made_stage("loops", fused)) loops = add_loops(page_, of, *made->lines, members);
    code(of, part, from, fused, loops);
    if (const auto made = made_stage("program", part))
      add_program(page_, of, *made->lines, made->graph, from);
  }

  // The code of the kernels, under their loops. CUDA C++ is shown of other kernels, too: those that a card
  // would have, which come from the graph itself. PTX is not: NVRTC takes its time.
  void code(const std::string& of, const CapturedGraph& part, const Ancestry& from,
            const CapturedGraph& fused, const LoopsTable& loops) {
    for (const host::StageRow& row : host::stages()) {
      if (!row.of) continue;
      if (host::concerns(row, fused.graph)) {
        if (const auto made = made_stage(row.name, fused)) add_code(page_, row.name, of, *made->lines, loops);
      } else if (row.name == "cuda") {
        const auto made = made_stage(row.name, part);
        if (made && host::concerns(row, made->graph))
          add_code_of_nodes(page_, row.name, joined(of, "as a card would have it"), *made->lines, made->graph,
                            from);
      }
    }
  }

  CallPage& page_;
  const std::string of_;
  const CapturedGraph& captured_;
  const jit::Remove remove_;
};

}  // namespace

CallPage make_page(Session& session, std::string_view text, const WrittenCall& written,
                   const host::CapturedCall& call) {
  CallPage page{.title = std::string(text)};
  std::vector<CapturedGraph> graphs;
  for (const CapturedGraph* const each : call.graphs()) {
    graphs.push_back(*each);
    name_by_paths(session, written, graphs.back());
    jit::number_nodes(graphs.back().graph);
  }
  const SourceLines source = add_source(page, session, written.function, graphs);
  for (std::size_t i = 0; i < graphs.size(); ++i)
    Stretch(page, graphs.size() > 1 ? fmt::format("graph {}", i + 1) : "", graphs[i], call.remove)
        .run(source);
  page.notes = notes_on(session, written.function, call);
  return page;
}

}  // namespace kiln::repl

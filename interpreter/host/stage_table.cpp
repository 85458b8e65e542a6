#include "interpreter/host/stage_table.h"

#include <algorithm>
#include <chrono>

#include "interpreter/host/gradient_run.h"
#include "interpreter/interpreter.h"
#include "interpreter/values/graph_value.h"
#include "jit/loops/kernel_op.h"
#include "tensor/interrupt.h"

namespace kiln::interp::host {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t bytes_made(const jit::Graph& graph) {
  std::int64_t bytes = 0;
  for (const jit::Node& node : graph.nodes) {
    if (node.is_constant() || node.is_view() || node.writes()) continue;
    for (const jit::ValueId id : node.outputs) {
      const jit::Type& type = graph.values[static_cast<std::size_t>(id)].type;
      if (type.is_number) continue;
      const Dim count = count_elements(jit::evaluate(type, graph.hints).sizes);
      bytes += count.fixed() * static_cast<std::int64_t>(size_of(type.dtype));
    }
  }
  return bytes;
}

class Table {
 public:
  Table(Interpreter& interpreter, jit::Remove remove) : interpreter_(interpreter), remove_(remove) {}

  void add(const StageRow& row, const CapturedGraph& of, const std::string& part) {
    StageSummary summary;
    summary.name = std::string(row.name) + (part.empty() ? "" : " " + part);
    const Clock::time_point start = Clock::now();
    try {
      summary.made = stage_value(row, of, remove_);
      const std::chrono::duration<double> took = Clock::now() - start;
      if (!rows.empty()) summary.seconds = took.count();
      describe(summary);
    } catch (const OpError& error) {  // not every graph has every stage
      check_interrupt();
      summary.missing = error.message();
    }
    rows.push_back(std::move(summary));
  }

  std::vector<StageSummary> rows;

 private:
  void describe(StageSummary& summary) const {
    if (!summary.made.is(Tag::Graph)) {
      const std::string text = interpreter_.str(summary.made);
      summary.lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
      return;
    }
    const jit::Graph& graph = graph_of(summary.made);
    summary.ops = graph.nodes.size();
    summary.kernels = jit::kernels_of(graph).size();
    summary.saved = graph.saved.size();
    summary.bytes = bytes_made(graph);
    const Value before = rows.empty() ? Value() : rows.back().made;
    summary.is_as_before = before.is(Tag::Graph) && graph_of(before).nodes == graph.nodes;
  }

  Interpreter& interpreter_;
  jit::Remove remove_;
};

}  // namespace

std::vector<StageSummary> stage_table(Interpreter& interpreter, const CapturedGraph& captured,
                                      jit::Remove remove) {
  const std::vector<CapturedGraph> parts = what_runs(captured);
  const StageRow* const first_of_kernels = &stage_named("fused");
  Table table(interpreter, remove);
  for (const StageRow& row : stages()) {
    if (!concerns(row, captured.graph)) continue;
    if (&row < first_of_kernels || parts.size() == 1) {
      table.add(row, captured, "");
      continue;
    }
    for (const CapturedGraph& part : parts) table.add(row, part, std::string(jit::name(part.graph.stage)));
  }
  return std::move(table.rows);
}

}  // namespace kiln::interp::host

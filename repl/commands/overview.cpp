// Commands that show all stages of one call together: stages.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "interpreter/host/gradient_run.h"
#include "interpreter/host/graph_stages.h"
#include "interpreter/values/graph_value.h"
#include "jit/loops/kernel_op.h"
#include "repl/definition.h"
#include "repl/graph_view.h"
#include "repl/table.h"
#include "repl/terminal.h"
#include "repl/units.h"
#include "repl/written_call.h"

namespace kiln::repl {
namespace {

using interp::Tag;
using interp::Value;
using interp::host::StageRow;

// Text of other stages than graphs is long: above this many lines only their number is told.
constexpr std::size_t kMostLines = 40;

std::string heading(Session& session, std::string_view stage, const std::string& about) {
  return paint(stage, style::kHeading, session.color()) +
         (about.empty() ? "" : paint("  " + about, style::kFaint, session.color())) + "\n";
}

std::string counted_ops(std::size_t count) { return fmt::format("{} op{}", count, count == 1 ? "" : "s"); }

// The stage with its heading; of a graph that is as the one before only that.
std::string stage_section(Session& session, const StageRow& row, const Value& stage, const Value& before,
                          double seconds) {
  // The first is what the call left behind: making it takes no time of its own.
  const std::string time = before.is_none() ? "" : ", made in " + duration_text(seconds);
  if (stage.is(Tag::Graph)) {
    const jit::Graph& graph = interp::graph_of(stage);
    const bool same = before.is(Tag::Graph) && interp::graph_of(before).nodes == graph.nodes;
    return heading(session, row.name, counted_ops(graph.nodes.size()) + time) +
           (same ? "the same nodes\n" : graph_view(session, graph));
  }
  const std::string text = session.interpreter().str(stage);
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  const bool is_long = lines > kMostLines;
  return heading(session, row.name, fmt::format("{} lines{}", lines, time)) +
         (is_long ? fmt::format("`:{}` shows them\n", row.name) : code_view(session, text));
}

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void show_stages(Session& session, const interp::CapturedGraph& captured, jit::Remove remove) {
  Value before;
  for (const StageRow& row : interp::host::stages()) {
    const Clock::time_point start = Clock::now();
    try {
      const Value stage = interp::host::stage_value(row, captured, remove);
      session.write(stage_section(session, row, stage, before, seconds_since(start)));
      before = stage;
    } catch (const OpError& error) {  // not every graph has every stage
      session.write(heading(session, row.name, "") + error.message() + "\n");
    }
  }
}

// ---- The table ----

using Cells = std::vector<std::string>;

// What nodes make in memory of their own.
std::int64_t bytes_made(const jit::Graph& graph) {
  std::int64_t bytes = 0;
  for (const jit::Node& node : graph.nodes) {
    if (node.is_constant() || node.is_view() || node.writes()) continue;
    for (const jit::ValueId id : node.outputs) {
      const jit::Type& type = graph.values[static_cast<std::size_t>(id)].type;
      const Dim count = count_elements(jit::evaluate(type, graph.hints).sizes);
      if (!type.is_number) bytes += count.fixed() * static_cast<std::int64_t>(size_of(type.dtype));
    }
  }
  return bytes;
}

std::string graph_cell(const jit::Graph& graph, const Value& before) {
  const std::size_t kernels = jit::kernels_of(graph).size();
  std::string text = counted_ops(graph.nodes.size());
  if (kernels > 0) text += fmt::format(", {} of them kernel{}", kernels, kernels == 1 ? "" : "s");
  if (!graph.saved.empty()) text += fmt::format(", {} saved", graph.saved.size());
  if (before.is(Tag::Graph) && interp::graph_of(before).nodes == graph.nodes) text += ", as before";
  return text;
}

Cells row_of_stage(Session& session, const StageRow& row, const interp::CapturedGraph& captured,
                   jit::Remove remove, Value& before) {
  const Clock::time_point start = Clock::now();
  try {
    const Value stage = interp::host::stage_value(row, captured, remove);
    const std::string took = before.is_none() ? "" : duration_text(seconds_since(start));
    const Value last = std::exchange(before, stage);
    if (stage.is(Tag::Graph)) {
      const jit::Graph& graph = interp::graph_of(stage);
      return {std::string(row.name), graph_cell(graph, last),
              bytes_text(static_cast<std::size_t>(bytes_made(graph))), took};
    }
    const std::string text = session.interpreter().str(stage);
    const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
    return {std::string(row.name), fmt::format("{} line{}", lines, lines == 1 ? "" : "s"), "", took};
  } catch (const OpError& error) {  // not every graph has every stage
    return {std::string(row.name), error.message(), "", ""};
  }
}

// Is there code of this stage, on the devices of the call?
bool concerns(const StageRow& row, const jit::Graph& graph) {
  return !row.of || std::any_of(graph.values.begin(), graph.values.end(), [&row](const jit::Value& each) {
    return !each.type.is_number && each.type.device.kind == *row.of;
  });
}

// Which graphs a stage is made of: kernels are of the graphs that run.
bool is_of_kernels(const StageRow& row) {
  const auto stages = interp::host::stages();
  return &row >= &interp::host::stage_named("fused") && &row <= &stages.back();
}

void show_table(Session& session, const interp::CapturedGraph& captured, jit::Remove remove) {
  const std::vector<interp::CapturedGraph> parts = interp::host::what_runs(captured);
  std::vector<Cells> rows;
  Value before;
  for (const StageRow& row : interp::host::stages()) {
    if (!concerns(row, captured.graph)) continue;
    if (!is_of_kernels(row) || parts.size() == 1) {
      rows.push_back(row_of_stage(session, row, captured, remove, before));
      continue;
    }
    for (const interp::CapturedGraph& part : parts) {
      rows.push_back(row_of_stage(session, row, part, remove, before));
      rows.back().front() += " " + std::string(jit::name(part.graph.stage));
    }
  }
  session.write(
      table_text({{"stage"}, {"what it is"}, {"results", true}, {"made in", true}}, rows, session.color()));
}

// Of a long definition only its place, unless all is printed.
void show_source(Session& session, const WrittenCall& call, std::string_view text, bool full) {
  constexpr std::ptrdiff_t kMostShown = 8;  // lines
  const auto definition = definition_of(call.function);
  if (!call.is_call) {
    session.write(heading(session, "source", "") + std::string(text) + "\n");
  } else if (definition) {
    session.write(heading(session, "source", fmt::format("{}:{}", definition->file, definition->line)));
    const auto lines = std::count(definition->text.begin(), definition->text.end(), '\n') + 1;
    if (full || lines <= kMostShown) session.write(definition->text + "\n");
  }
}

// "full f(x)" as the call, and whether all is printed.
std::pair<std::string_view, bool> split_full(std::string_view text) {
  constexpr std::string_view kFull = "full ";
  if (!text.starts_with(kFull)) return {text, false};
  return {trim(text.substr(kFull.size())), true};
}

void stages(Session& session, std::string_view argument) {
  const auto [text, full] = split_full(argument);
  const WrittenCall call = written_call(session, "stages", text);
  show_source(session, call, text, full);
  const Clock::time_point start = Clock::now();
  const auto captured =
      interp::host::captured_call(session.interpreter(), call.function, call.positional, call.named);
  session.write(heading(session, "call", "captured and run in " + duration_text(seconds_since(start))));
  if (captured.graphs().empty()) session.write("it runs no op that is captured\n");
  for (const interp::CapturedGraph& each : captured.parts) {
    if (interp::host::has_graph(each)) (full ? show_stages : show_table)(session, each, captured.remove);
    session.write(break_view(session, each));
  }
  if (!full && !captured.graphs().empty())
    session.write(
        paint(fmt::format(
                  "`:stages full {}` prints them all, and one each: `:functional`, `:backward`, `:loops` …\n",
                  text),
              style::kFaint, session.color()));
}

constexpr std::array<Command, 1> kCommands{{
    {"stages", "[full] f(x)", "Compiling",
     "the stages of one call on one screen, with counts, bytes and times",
     "Bytes are those that the ops of a stage write. Where an argument requires a gradient, the kernels are\n"
     "those of the forward and of the backward graph. With `full`, every stage is printed.\n\n"
     "kiln> fn f(x) { y = x.clone(); y.add_(1); return x * y }\nkiln> :stages f(ones(3))\n"
     "kiln> :stages full f(ones(3))\n",
     stages},
}};

}  // namespace

std::span<const Command> overview_commands() { return kCommands; }

}  // namespace kiln::repl

// Commands that show all stages of one call together: stages.
#include <fmt/format.h>

#include <array>
#include <chrono>

#include "interpreter/host/graph_stages.h"
#include "interpreter/values/graph_value.h"
#include "repl/definition.h"
#include "repl/graph_view.h"
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

void show_source(Session& session, const WrittenCall& call, std::string_view text) {
  const auto definition = definition_of(call.function);
  if (!call.is_call) {
    session.write(heading(session, "source", "") + std::string(text) + "\n");
  } else if (definition) {
    session.write(heading(session, "source", fmt::format("{}:{}", definition->file, definition->line)));
    session.write(definition->text + "\n");
  }
}

void stages(Session& session, std::string_view text) {
  const WrittenCall call = written_call(session, "stages", text);
  show_source(session, call, text);
  const Clock::time_point start = Clock::now();
  const auto captured =
      interp::host::captured_call(session.interpreter(), call.function, call.positional, call.named);
  session.write(heading(session, "call", "captured and run in " + duration_text(seconds_since(start))));
  if (captured.graphs().empty()) session.write("it runs no op that is captured\n");
  for (const interp::CapturedGraph& each : captured.parts) {
    if (interp::host::has_graph(each)) show_stages(session, each, captured.remove);
    session.write(break_view(session, each));
  }
}

constexpr std::array<Command, 1> kCommands{{
    {"stages", "f(x)", "Compiling", "every stage of one call, from its source on, with counts and times",
     "kiln> fn f(x) { y = x.clone(); y.add_(1); return x * y }\nkiln> :stages f(ones(3))\n", stages},
}};

}  // namespace

std::span<const Command> overview_commands() { return kCommands; }

}  // namespace kiln::repl

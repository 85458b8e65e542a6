// Commands that show all stages of one call together: stages.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "interpreter/host/stage_table.h"
#include "interpreter/values/graph_value.h"
#include "repl/definition.h"
#include "repl/graph_view.h"
#include "repl/table.h"
#include "repl/terminal.h"
#include "repl/units.h"
#include "repl/written_call.h"
#include "tensor/how_many.h"
#include "tensor/interrupt.h"

namespace kiln::repl {
namespace {

using interp::Tag;
using interp::Value;
using interp::host::StageRow;
using interp::host::StageSummary;

// Text of other stages than graphs is long: above this many lines only their number is told.
constexpr std::size_t kMostLines = 40;

std::string heading(Session& session, std::string_view stage, const std::string& about) {
  return paint(stage, style::kHeading, session.color()) +
         (about.empty() ? "" : paint("  " + about, style::kFaint, session.color())) + "\n";
}

// The stage with its heading; of a graph that is as the one before only that.
std::string stage_section(Session& session, const StageRow& row, const Value& stage, const Value& before,
                          double seconds) {
  // The first is what the call left behind: making it takes no time of its own.
  const std::string time = before.is_none() ? "" : ", made in " + duration_text(seconds);
  if (stage.is(Tag::Graph)) {
    const jit::Graph& graph = interp::graph_of(stage);
    const bool same = before.is(Tag::Graph) && interp::graph_of(before).nodes == graph.nodes;
    return heading(session, row.name, how_many(graph.nodes.size(), "op") + time) +
           (same ? "the same nodes\n" : graph_view(session, graph));
  }
  const std::string text = session.interpreter().str(stage);
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  const bool is_long = lines > kMostLines;
  return heading(session, row.name, how_many(lines, "line") + time) +
         (is_long ? fmt::format("`:{}` shows them\n", row.name) : code_view(session, text));
}

using Clock = std::chrono::steady_clock;
double seconds_from(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void show_stages(Session& session, const interp::CapturedGraph& captured, jit::Remove remove) {
  Value before;
  for (const StageRow& row : interp::host::stages()) {
    const Clock::time_point start = Clock::now();
    try {
      const Value stage = interp::host::stage_value(row, captured, remove);
      session.write(stage_section(session, row, stage, before, seconds_from(start)));
      before = stage;
    } catch (const OpError& error) {  // not every graph has every stage
      check_interrupt();
      session.write(heading(session, row.name, "") + error.message() + "\n");
    }
  }
}

// ---- The table ----

std::string what_it_is(const StageSummary& stage) {
  if (stage.made.is_none()) return stage.missing;
  if (!stage.made.is(Tag::Graph)) return how_many(stage.lines, "line");
  std::string text = how_many(stage.ops, "op");
  if (stage.kernels > 0)
    text += fmt::format(", {} of them kernel{}", stage.kernels, stage.kernels == 1 ? "" : "s");
  if (stage.saved > 0) text += fmt::format(", {} saved", stage.saved);
  if (stage.is_as_before) text += ", as before";
  return text;
}

void show_table(Session& session, const interp::CapturedGraph& captured, jit::Remove remove) {
  std::vector<std::vector<std::string>> rows;
  for (const StageSummary& each : interp::host::stage_table(session.interpreter(), captured, remove)) {
    const bool has_bytes = each.made.is(Tag::Graph);
    rows.push_back({each.name, what_it_is(each),
                    has_bytes ? bytes_text(static_cast<std::size_t>(each.bytes)) : "",
                    each.seconds > 0 ? duration_text(each.seconds) : ""});
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
  session.write(heading(session, "call", "captured and run in " + duration_text(seconds_from(start))));
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

constexpr std::array<Command, 1> kOverviewCommands{{
    {"stages", "[full] f(x)", "Compiling",
     "the stages of one call on one screen, with counts, bytes and times",
     "Bytes are those that the ops of a stage write. Where an argument requires a gradient, the kernels are\n"
     "those of the forward and of the backward graph. With `full`, every stage is printed.\n\n"
     "kiln> fn f(x) { y = x.clone(); y.add_(1); return x * y }\nkiln> :stages f(ones(3))\n"
     "kiln> :stages full f(ones(3))\n",
     stages, in_programs("stages(f, x)"), "full"},
}};

}  // namespace

std::span<const Command> overview_commands() { return kOverviewCommands; }

}  // namespace kiln::repl

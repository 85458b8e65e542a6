// Commands that tell what became of a function, or of the loops at top level: guards entries breaks why hot.
#include <fmt/format.h>

#include <array>

#include "interpreter/host/graph_stages.h"
#include "interpreter/values/natives.h"
#include "repl/columns.h"
#include "repl/graph_view.h"
#include "repl/terminal.h"
#include "repl/units.h"
#include "repl/written_call.h"
#include "tensor/how_many.h"

namespace kiln::repl {
namespace {

using interp::Value;

std::string code_text(std::int64_t bytes) {
  return bytes == 0 ? "" : fmt::format(", {} of code", bytes_text(static_cast<std::size_t>(bytes)));
}

void write_guards(Session& session, const std::vector<std::string>& guards) {
  if (guards.empty()) session.write("  nothing was assumed\n");
  for (const std::string& guard : guards) session.write("  " + guard + "\n");
}

void write_place(Session& session, const std::string& text) {
  session.write(paint(text, style::kCode, session.color()) + "\n");
}

std::vector<interp::EntryInfo> entries_or_word(Session& session, std::string_view text, const Value& f) {
  std::vector<interp::EntryInfo> entries = interp::entries_of(session.interpreter(), f);
  if (entries.empty() && text.empty()) session.write("no loop at top level has a compiled entry yet\n");
  if (entries.empty() && !text.empty())
    session.write(fmt::format("`{}` has no compiled entry yet; `:why {}`\n", text, text));
  return entries;
}

void guards(Session& session, std::string_view text) {
  if (!names_function(session, "guards", text)) {
    const WrittenCall call = written_call(session, "guards", text);
    const auto captured =
        interp::host::captured_call(session.interpreter(), call.function, call.positional, call.named);
    for (const interp::CapturedGraph& each : captured.parts) {
      write_place(session, "graph " + each.graph.name);
      write_guards(session, each.guards);
    }
    return;
  }
  const Value f = written_function(session, "guards", text);
  for (const interp::EntryInfo& entry : entries_or_word(session, text, f)) {
    write_place(session, entry.place);
    write_guards(session, entry.guards);
  }
}

// Without a name, what stands at top level: its loops.
Value function_or_top_level(Session& session, std::string_view command, std::string_view text) {
  return text.empty() ? Value() : written_function(session, command, text);
}

void write_flows(Session& session, const std::vector<interp::FlowInfo>& flows) {
  for (const interp::FlowInfo& each : flows) {
    write_place(session, fmt::format("loop  {}  {}: {}, {}", each.place, each.form,
                                     how_many(each.runs, "run"), how_many(each.trips, "trip")) +
                             code_text(each.code_bytes));
    write_guards(session, each.guards);
  }
}

void entries(Session& session, std::string_view text) {
  const Value f = function_or_top_level(session, "entries", text);
  const std::vector<interp::FlowInfo> flows = interp::flows_of(session.interpreter(), f);
  write_flows(session, flows);
  std::size_t number = 0;
  const auto compiled =
      flows.empty() ? entries_or_word(session, text, f) : interp::entries_of(session.interpreter(), f);
  for (const interp::EntryInfo& entry : compiled) {
    write_place(session, fmt::format("{}  {}  {}, {}", ++number, entry.place, how_many(entry.hits, "hit"),
                                     how_many(static_cast<std::int64_t>(entry.graph.nodes.size()), "node")) +
                             code_text(entry.code_bytes));
    write_guards(session, entry.guards);
  }
}

void write_break(Session& session, const interp::GraphBreak& each) {
  const std::string place = each.file.empty() ? "" : fmt::format("{}:{}: ", each.file, each.line);
  session.write(place + each.reason + "\n");
  const std::string source = source_line(session, each.file, each.line);
  if (!source.empty()) session.write(paint("  | " + source, style::kCode, session.color()) + "\n");
}

void breaks(Session& session, std::string_view text) {
  std::vector<interp::GraphBreak> found;
  if (!names_function(session, "breaks", text)) {
    const WrittenCall call = written_call(session, "breaks", text);
    const auto captured =
        interp::host::captured_call(session.interpreter(), call.function, call.positional, call.named);
    found = interp::host::breaks_of(captured);
  } else {
    const Value f = written_function(session, "breaks", text);
    found = interp::compile_info_of(session.interpreter(), f).breaks;
  }
  if (found.empty()) session.write("no breaks\n");
  for (const interp::GraphBreak& each : found) write_break(session, each);
}

void why(Session& session, std::string_view text) {
  const Value f = function_or_top_level(session, "why", text);
  session.write(wrapped(interp::why(session.interpreter(), f), interp::print_options().width) + "\n");
}

void hot(Session& session, std::string_view text) {
  if (text == "on" || text == "off") return interp::set_compiling(text == "on");
  if (text == "reset") return interp::reset_compiled(session.interpreter(), Value());
  if (!text.empty()) command_error("ValueError", fmt::format(":hot takes on, off or reset, not `{}`", text));
  if (!interp::compiling()) session.write("nothing is compiled: `:hot on` puts an end to that\n");
  const std::vector<interp::HotFunction> found = interp::hot_functions(session.interpreter());
  if (found.empty()) return session.write("nothing became hot yet\n");
  std::size_t width = 4;
  for (const interp::HotFunction& each : found) width = std::max(width, each.name.size());
  for (const interp::HotFunction& each : found) {
    session.write(fmt::format("{:<{}}  {:>10}  {}{}\n", each.name, width,
                              how_many(each.calls, each.is_loop ? "trip" : "call"), each.outcome,
                              code_text(each.code_bytes)));
    session.write(paint(fmt::format("{:<{}}  {}", "", width, each.place), style::kFaint, session.color()) +
                  "\n");
  }
}

constexpr std::array<Command, 5> kEntriesCommands{{
    {"guards", "f | f(x)", "Compiling", "what was assumed: of compiled entries, or of one call",
     "kiln> fn f(x) = x.cos() * 2\nkiln> :guards f(ones(3))\n", guards, in_programs("graph(f, x).guards")},
    {"entries", "[f]", "Compiling", "compiled entries with their guards, and how often each was used",
     "kiln> @jit fn f(x) = x.cos() * 2\nkiln> f(ones(3));\nkiln> :entries f\n", entries,
     in_programs("compile_info(f).compiled")},
    {"breaks", "f | f(x)", "Compiling", "where capture broke, and why",
     "kiln> fn f(x) { if x.sum() > 0 { return x * 2 }; return x }\nkiln> :breaks f(ones(3))\n", breaks,
     in_programs("breaks(f, x)")},
    {"why", "[f]", "Compiling", "why it was compiled again, was not compiled, or breaks",
     "kiln> fn f(x) = x.cos()\nkiln> :why f\n", why, in_programs("why(f)")},
    {"hot", "[on | off | reset]", "Compiling", "hot functions and loops, and what became of them",
     "`:hot off` has the interpreter do everything, as `set_compile(false)` does; `:hot reset` forgets what "
     "was\n"
     "compiled, as `reset_compiled()` does.\n\nkiln> :hot\n",
     hot, in_programs("hot()"), "on off reset"},
}};

}  // namespace

std::span<const Command> entry_commands() { return kEntriesCommands; }

}  // namespace kiln::repl

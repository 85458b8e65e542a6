// The commands that show where time goes: profile trace.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "interpreter/trace_text.h"
#include "interpreter/vm/impl.h"
#include "interpreter/vm/profile_run.h"
#include "repl/command.h"
#include "repl/table.h"
#include "repl/terminal.h"
#include "repl/trace.h"
#include "repl/units.h"
#include "repl/write_text.h"

namespace kiln::repl {
namespace {

using interp::Profile;
using timeline::Kind;

constexpr std::size_t kMostOps = 20;
constexpr std::uint32_t kMostApart = 3;  // lines without ops that are shown between two with ops

std::string share_text(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f} %", part / whole * 100) : "-";
}

std::string summary_text(const Profile& profile) {
  std::string text = duration_text(profile.total);
  const auto add = [&](std::string_view what, double seconds) {
    if (seconds > 0)
      text += fmt::format(", {} {} ({})", what, duration_text(seconds), share_text(seconds, profile.total));
  };
  add("ops", profile.all_ops());
  add("interpreter", profile.phase(Kind::Run));
  add("capture", profile.phase(Kind::Capture));
  add("kernels", profile.phase(Kind::Compile));
  add("waiting for kernels", profile.phase(Kind::Wait));
  add("parse and bytecode", profile.phase(Kind::Parse) + profile.phase(Kind::Bytecode));
  if (profile.compiled_behind > 0)
    text += fmt::format(", beside it kernels {}", duration_text(profile.compiled_behind));
  return text + "\n";
}

std::string ops_table(const Profile& profile, bool color) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t k = 0; k < std::min(profile.ops.size(), kMostOps); ++k) {
    const Profile::Op& op = profile.ops[k];
    rows.push_back({(op.is_compiled ? "compiled: " : "") + op.name, std::to_string(op.calls),
                    duration_text(op.seconds), share_text(op.seconds, profile.total)});
  }
  std::string text = table_text({{"op"}, {"calls", true}, {"time", true}, {"share", true}}, rows, color);
  if (profile.ops.size() > kMostOps) text += fmt::format("and {} more\n", profile.ops.size() - kMostOps);
  return text;
}

constexpr std::size_t kMargin = 37;
// The time of a line, its share, how much of it is the interpreter's, and how many ops ran.
std::string line_margin(const Profile::Line& line, double total) {
  const std::string interpreted = line.interpreter > 0 ? duration_text(line.interpreter) : "-";
  return fmt::format("{:>9} {:>5} {:>11} {:>8}x", duration_text(line.seconds),
                     share_text(line.seconds, total), interpreted, line.calls);
}

// The lines of one file that took time, and those between them, with their time in the margin.
std::string margin_of(Session& session, const std::string& file,
                      const std::map<int, const Profile::Line*>& lines, double total) {
  const lang::SourceFile* const source = session.interpreter().impl().modules.source(file);
  std::string text = paint(file, style::kHeading, session.color()) + "\n" +
                     fmt::format("{:>9} {:>5} {:>11} {:>9}\n", "time", "share", "interpreter", "ops");
  int last = 0;
  const auto show = [&](int number, const Profile::Line* line) {
    const std::string_view code =
        source != nullptr ? source->line(static_cast<std::uint32_t>(number)) : std::string_view();
    const std::string margin = line == nullptr ? std::string(kMargin, ' ') : line_margin(*line, total);
    text += paint(margin, style::kCode, session.color()) + fmt::format(" {:>4} | {}\n", number, code);
  };
  for (const auto& [number, line] : lines) {
    if (last != 0 && number - last > static_cast<int>(kMostApart) + 1) {
      text += std::string(kMargin + 3, ' ') + "… |\n";
    } else if (last != 0) {
      for (int between = last + 1; between < number; ++between) show(between, nullptr);
    }
    show(number, line);
    last = number;
  }
  return text;
}

std::string lines_text(Session& session, const Profile& profile) {
  std::map<std::string, std::map<int, const Profile::Line*>> files;
  for (const Profile::Line& each : profile.lines) files[each.file][each.number] = &each;
  std::string text;
  for (const auto& [file, lines] : files) text += margin_of(session, file, lines, profile.total);
  return text;
}

constexpr std::string_view kTraceEnding = ".json";
// "f(x) trace.json": the expression, and the file at its end if there is one.
std::pair<std::string_view, std::string> split_file(std::string_view text) {
  const std::size_t blank = text.find_last_of(" \t");
  if (!text.ends_with(kTraceEnding) || blank == std::string_view::npos) return {text, ""};
  return {trim(text.substr(0, blank)), std::string(text.substr(blank + 1))};
}

void profile(Session& session, std::string_view argument) {
  if (argument.empty()) usage_error(*find_command("profile"), "give something to run");
  const auto [text, file] = split_file(argument);
  const Profile profile = interp::profile_run(session.interpreter(), [&] { session.run(text); });
  session.write(summary_text(profile));
  if (!profile.ops.empty()) session.write(ops_table(profile, session.color()));
  if (!profile.lines.empty()) session.write(lines_text(session, profile));
  if (file.empty()) return;
  write_text(file, interp::trace_text(profile.events));
  session.write(fmt::format("wrote {}, which Perfetto opens (ui.perfetto.dev)\n", file));
}

// ---- :trace ----

void end_trace(Session& session) {
  const std::unique_ptr<Trace> trace = std::move(session.trace());
  if (!trace) command_error("ValueError", "no trace is being recorded", "`:trace trace.json` begins one");
  session.write(trace->finish());
}

void begin_trace(Session& session, std::string_view path) {
  if (session.trace())
    command_error("ValueError",
                  fmt::format("a trace is being recorded already, to {}", session.trace()->path()),
                  "`:trace off` writes it");
  session.trace() = std::make_unique<Trace>(std::string(path));
  session.write(fmt::format("recording to {} until `:trace off`\n", path));
}

// What the line did until it failed is written, too.
void trace_line(Session& session, std::string_view text, const std::string& path) {
  Trace trace(path);
  interp::Interpreter::Outcome outcome;
  try {
    outcome = session.run(text);
  } catch (...) {
    session.write(trace.finish());
    throw;
  }
  if (outcome.has_value) session.show(outcome.value);
  session.write(trace.finish());
}

void trace(Session& session, std::string_view argument) {
  const auto [text, file] = split_file(argument);
  if (argument == "off") {
    end_trace(session);
  } else if (!file.empty()) {
    trace_line(session, text, file);
  } else if (argument.ends_with(kTraceEnding)) {
    begin_trace(session, argument);
  } else if (argument.empty() && session.trace()) {
    session.write(fmt::format("recording to {} until `:trace off`\n", session.trace()->path()));
  } else {
    usage_error(*find_command("trace"), "give the file of the trace, which ends in .json");
  }
}

constexpr std::array<Command, 2> kProfilingCommands{{
    {"profile", "e [file.json]", "Timing", "run once; time by op and by line",
     "Each op is timed, also within compiled code, where those of a kernel are one row; they count for the "
     "line\n"
     "of the last. The time of a line is that of its ops and that of the interpreter, which is told by ticks "
     "of a\n"
     "quarter of a millisecond. On a card each op is waited for. With a file, all of it is written as a "
     "trace, with the\n"
     "phases of compilation and the work of each thread.\n\n"
     "kiln> x = rand(100, 100)\nkiln> :profile (x @ x).relu().sum()\n",
     profile, in_programs("profile(() => f(x))")},
    {"trace", "file.json | off | e file.json", "Timing", "record what takes time, for Perfetto",
     "`:trace file.json` records all that runs until `:trace off`, which writes the file; `:trace e "
     "file.json` "
     "runs\n"
     "e alone. Perfetto (ui.perfetto.dev) shows what each thread did when, phases of compilation, ops and "
     "kernels with\n"
     "their lines, the bytes of live tensors, and in a job all ranks, with their collectives. `kiln --trace "
     "file.json f.kiln`\n"
     "does so for a program. See also `:profile`, which adds it up.\n",
     trace, in_programs("profile(() => f(x)).trace_json"), "off", true},
}};

}  // namespace

std::span<const Command> profiling_commands() { return kProfilingCommands; }

}  // namespace kiln::repl

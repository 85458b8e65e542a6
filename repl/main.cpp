// The command `kiln`: reads the command line, sets the process up, and hands over to a mode.
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include "dist/launch/remote_command.h"
#include "interpreter/capture/stages.h"
#include "interpreter/files/system_call.h"
#include "interpreter/host/rank_job.h"
#include "repl/command.h"
#include "repl/explain.h"
#include "repl/failure.h"
#include "repl/init_file.h"
#include "repl/interrupt.h"
#include "repl/jupyter.h"
#include "repl/kept_settings.h"
#include "repl/options.h"
#include "repl/paths.h"
#include "repl/prompt.h"
#include "repl/rank_session.h"
#include "repl/report.h"
#include "repl/run_ranks.h"
#include "repl/session.h"
#include "repl/start.h"
#include "repl/terminal.h"
#include "repl/tools.h"
#include "repl/trace.h"
#include "repl/version.h"
#include "repl/write_text.h"
#include "tensor/detached_call.h"
#include "tensor/device.h"
#include "tensor/parallel.h"

namespace {

// Of a program's time, for captures that it has not asked for: what it may take longer than in the
// interpreter.
constexpr double kCaptureShare = 0.04;

using namespace kiln;
using namespace kiln::repl;

// What Ctrl-C cuts is lost with the program that wrote it, and is no failure of the stream.
void to_stdout(std::string_view text) {
  if (!interp::host::write_stream(stdout, text) && errno == EINTR) std::clearerr(stdout);
}

// What was printed before an error stands before it.
void to_stderr(std::string_view text) {
  std::fflush(stdout);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

int complain(const UsageError& error) {
  to_stderr("kiln: " + error.message + "\n");
  if (!error.help.empty()) to_stderr("help: " + error.help + "\n");
  to_stderr("`kiln --help` shows what there is\n");
  return kExitUsage;
}

void apply_settings(const CommandLine& line) {
  if (!line.device.empty()) set_default_device(parse_device(device_of_rank(line.device)));
  if (line.threads.empty()) return;
  int count = 0;
  const char* end = line.threads.data() + line.threads.size();
  if (std::from_chars(line.threads.data(), end, count).ptr != end || count < 1) {
    throw UsageError{"`--threads` takes a number from 1 up, not `" + line.threads + "`", {}};
  }
  set_num_threads(count);
}

Session::Options session_options(const CommandLine& line, bool interactive) {
  Session::Options options;
  options.arguments = line.arguments;
  options.interactive = interactive;
  options.numbers = options.fits_width = interactive;
  if (interactive && !line.no_init && !config_folder().empty())
    options.settings_file = config_folder() + "/settings";
  options.color = !line.no_color && wants_color(STDOUT_FILENO);
  options.color_errors = !line.no_color && wants_color(STDERR_FILENO);
  options.links = !line.no_color && shows_links(STDOUT_FILENO) && shows_links(STDERR_FILENO);
  options.json = line.json;
  options.compiles_hot = !line.no_hot;
  // What is piped in is a transcript, which is the same each time.
  if (line.mode != Mode::Prompt || interactive) options.capture_share = kCaptureShare;
  if (!line.backend.empty()) options.backend = line.backend;
  options.state_folder = [] { return state_folder(); };
  options.out = to_stdout;
  options.err = to_stderr;
  return options;
}

// What the command line or the environment says is not for earlier sessions to change.
std::vector<std::string_view> given_settings(const CommandLine& line) {
  std::vector<std::string_view> given;
  if (!line.threads.empty()) given.emplace_back("threads");
  if (!wants_color(STDOUT_FILENO) || line.no_color) given.insert(given.end(), {"color", "links"});
  return given;
}

// A word that is no file may be a tool with a slip in it.
void suggest_tool(const CommandLine& line) {
  if (access(line.script.c_str(), F_OK) == 0) return;
  const std::string_view near =
      lang::nearest(line.script, {"run", "fmt", "check", "test", "explain", "jupyter", "lsp"});
  if (!near.empty())
    throw UsageError{"there is no file `" + line.script + "`",
                     "did you mean `kiln " + std::string(near) + "`?"};
}

constexpr const char* kOwnText = "<kiln>";  // what a tool runs that is written in Kiln

std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) made += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return made + "\"";
}

bool is_of_program(const lang::Span& place) {
  return place && !place.file->is_library() && place.file->name() != kOwnText;
}

// Runs what a tool is in Kiln. Of errors the places in the program are told alone.
Result run_own_text(Session& session, const std::string& text) {
  Result ran;
  try {
    session.interpreter().run(kOwnText, text);
  } catch (lang::UserError& error) {
    lang::Diagnostic& told = error.diagnostic();
    std::erase_if(told.labels, [](const lang::Label& each) { return !is_of_program(each.span); });
    std::erase_if(told.trace, [](const lang::Frame& each) { return !is_of_program(each.span); });
    if (told.kind == "Interrupted") throw;
    session.report(told);  // here, since its places are in texts of the session
    ran.status = Status::Error;
    ran.exit_code = kExitError;
  }
  return ran;
}

// Runs a model of ONNX on the files that the arguments name.
Result run_model(Session& session, const CommandLine& line) {
  return run_own_text(session,
                      "from onnx_command import run_file\nrun_file(" + quoted(line.script) + ", args)\n");
}

// Runs the program, then what makes a library of its function.
Result build_library(Session& session, const CommandLine& line) {
  suggest_tool(line);
  const Result ran = session.eval_script(line.script);
  if (ran.status != Status::Done) return ran;
  return run_own_text(session, "import build_command\nbuild_command.build_library(" + quoted(line.entry) +
                                   ", " + line.entry + ", " + quoted(line.script) + ", args)\n");
}

// Runs the program, and tells of what it compiled, also where it failed.
Result write_report(Session& session, const CommandLine& line) {
  suggest_tool(line);
  check_writable(line.output);
  Result ran = session.eval_script(line.script);
  if (ran.exit_code == kExitUsage) return ran;
  write_text(line.output, report_page(session.interpreter(), line.script));
  to_stdout("wrote " + line.output + "\n");
  return ran;
}

Result run_program(Session& session, const CommandLine& line) {
  if (line.script.ends_with(".onnx")) return run_model(session, line);
  if (line.mode == Mode::Code) return session.eval_program("<code>", line.code, true);
  if (line.mode == Mode::Build) return build_library(session, line);
  if (line.mode == Mode::Report) return write_report(session, line);
  if (line.script == "-") return session.eval_program("<stdin>", read_text("-"), false);
  suggest_tool(line);
  return session.eval_script(line.script);
}

// Writes what time went to where that is asked for, also of a program that failed.
Result run_traced(Session& session, const CommandLine& line) {
  if (line.trace.empty()) return run_program(session, line);
  Trace trace(line.trace);
  const Result result = run_program(session, line);
  trace.finish();
  return result;
}

int run_session(const CommandLine& line) {
  const bool terminal = isatty(STDIN_FILENO) == 1;
  const bool prompt = line.mode == Mode::Prompt || line.prompt_after;
  watch_interrupts(prompt && terminal ? SecondInterrupt::Tell : SecondInterrupt::Leave);
  interp::set_checking(line.check);
  use_kept_kernels();
  Session::Options options = session_options(line, prompt && terminal);
  RankErrors errors(options.err);
  if (dist::launcher_link() != nullptr && !prompt)
    options.err = [&](std::string_view text) { errors.write(text); };
  // After Ctrl-C the end of the session waits for nothing that is compiled behind the program.
  std::optional<LeavesDetachedCalls> leaving;
  Session session(std::move(options));
  session.settings().apply(session, given_settings(line));
  if (prompt && !line.no_init) run_init_file(session);
  if (line.mode != Mode::Prompt) {
    const Result result = run_traced(session, line);
    errors.finish(result.exit_code != kExitDone);
    if (result.status == Status::Interrupted && !line.prompt_after) leaving.emplace();
    const bool differs = result.exit_code == kExitDone && interp::differences_found() > 0;
    if (!line.prompt_after || result.status == Status::Quit) return differs ? kExitError : result.exit_code;
  }
  if (follows_entries()) return follow_entries(session);
  const int code = terminal ? run_prompt(session) : run_piped(session);
  end_entries(code);
  return code;
}

int run(const CommandLine& line) {
  switch (line.mode) {
    case Mode::Version:
      to_stdout("kiln " + std::string(kVersion) + "\n");
      return kExitDone;
    case Mode::Help:
      to_stdout(usage_text());
      return kExitDone;
    case Mode::Format:
      return run_format(line);
    case Mode::Check:
      return run_check(line);
    case Mode::Test:
      return run_tests(line);
    case Mode::Explain:
      to_stdout(explanation(line.files.empty() ? "" : line.files.front(),
                            !line.no_color && wants_color(STDOUT_FILENO)));
      return kExitDone;
    case Mode::LanguageServer:
      return run_language_server();
    case Mode::Run:
      return run_ranks(line);
    case Mode::Prompt:
    case Mode::Script:
    case Mode::Code:
    case Mode::Build:
    case Mode::Report:
      break;
  }
  const RankConnection connection(line);
  const int code = run_session(line);
  // Ranks of a program that failed are not waited for.
  interp::leave_ranks(code == kExitDone);
  return code;
}

// A rank that was started on another host has its arguments packed.
std::vector<const char*> arguments_of(int argc, char** argv) {
  static const std::vector<std::string> words =
      dist::unpacked_arguments({argv + (argc > 0 ? 1 : 0), argv + argc});
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  return arguments;
}

// Results that could not be written are an error, also when only the last flush finds out.
int close_output(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fprintf(stderr, "kiln: cannot write the results: %s\n", std::strerror(errno));
  return code == kExitDone ? kExitError : code;
}

// The end of the process. What Ctrl-C left behind in a library still uses that library's memory, which would
// be taken down first.
int leave(int code) {
  const int closed = close_output(code);
  if (detached_calls_go_on()) _exit(closed);
  return closed;
}

// A file beyond `ulimit -f` is an error of the write to it, as a full disk is. Handled, not ignored: programs
// that we start would ignore it, too.
void watch_file_limit() {
  struct sigaction action{};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGXFSZ, &action, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  // A reader that goes away ends us without a word, whatever the parent process had set.
  std::signal(SIGPIPE, SIG_DFL);
  watch_file_limit();
  CommandLine line;
  try {
    check_processor();
    if (argc > 1 && std::string_view(argv[1]) == "jupyter") run_jupyter({argv + 2, argv + argc});
    line = parse_command_line(arguments_of(argc, argv));
    apply_settings(line);
    return leave(run(line));
  } catch (const UsageError& error) {
    return complain(error);
  } catch (...) {
    const Failure failure = current_failure();
    if (failure.fault != Failure::Fault::Exit) write_diagnostic(failure.diagnostic, line);
    return leave(failure.exit_code);
  }
}

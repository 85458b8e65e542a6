#include "editor/program_run.h"

#include <filesystem>

#include "repl/doctest.h"
#include "repl/documentation.h"

namespace kiln::editor {
namespace {

// False with what went wrong when the program does not run.
bool runs(repl::Session& session, const ProgramRun& run, bool is_main, RunReport& report) {
  std::error_code ignored;
  if (!run.path.empty())
    std::filesystem::current_path(std::filesystem::path(run.path).parent_path(), ignored);
  session.interpreter().main().path = run.path;
  session.interpreter().main().set("is_main", is_main);
  const repl::Result result = session.eval_program(run.name, run.text, false);
  if (result.exit_code == 0) return true;
  report = {true, result.diagnostics};
  return false;
}

}  // namespace

RunReport run_examples_of(repl::Session& session, const ProgramRun& run) {
  RunReport report;
  if (!runs(session, run, false, report)) return report;
  const auto page = repl::find_page(session, run.function);
  if (!page) return {true, "`" + run.function + "` is not there after the program ran"};
  const auto failed = repl::run_examples(session, page->documentation);
  if (!failed) return {false, "the examples of `" + run.function + "` print what they say"};
  return {true, ">>> " + failed->example.entry + "\nexpected\n" + failed->example.expected + "\ngot\n" +
                    failed->actual};
}

RunReport show_compiled(repl::Session& session, const ProgramRun& run) {
  RunReport report;
  if (!runs(session, run, true, report)) return report;
  std::string text;
  for (const char* command : {":entries ", ":breaks "}) {
    const repl::Result result = session.eval(command + run.function);
    text += result.output + result.diagnostics;
  }
  return {false, text};
}

}  // namespace kiln::editor

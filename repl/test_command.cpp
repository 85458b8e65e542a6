// `kiln test`: `>>>` examples of documentation and functions whose names begin with `test_`.
#include <unistd.h>

#include <filesystem>

#include <cstdio>

#include "repl/definition.h"
#include "repl/doctest.h"
#include "repl/documentation.h"
#include "repl/failure.h"
#include "repl/interrupt.h"
#include "repl/program_files.h"
#include "repl/session.h"
#include "repl/terminal.h"
#include "repl/tools.h"
#include "tensor/interrupt.h"

namespace kiln::repl {
namespace {

using interp::Tag;
using interp::Value;

// Reports on stdout as tests end.
class Report {
 public:
  explicit Report(bool color) : color_(color) {}

  void passed(const std::string& name) {
    ++passed_;
    print("  " + paint("ok", "\x1b[32m", color_) + "    " + name + "\n");
  }
  void failed(const std::string& name, const std::string& why) {
    ++failed_;
    print("  " + paint("FAIL", "\x1b[31m", color_) + "  " + name + "\n" + why);
  }
  void file(const std::string& path) { print(path + "\n"); }
  int finish() {
    print(std::to_string(passed_) + " passed, " + std::to_string(failed_) + " failed\n");
    return failed_ == 0 ? kExitDone : kExitError;
  }

 private:
  static void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }
  bool color_;
  int passed_ = 0;
  int failed_ = 0;
};

std::string indented(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += "        " + std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Ctrl-C ends all tests, not the one that runs. Throws OpError (Interrupted).
void check_not_stopped(const Result& result) {
  if (result.status == Status::Interrupted) throw_interrupt();
}

// All examples of one documentation are one test.
void test_examples(Session& session, const std::string& name, const std::string& documentation,
                   Report& report) {
  if (find_examples(documentation).empty()) return;
  const auto failed = run_examples(session, documentation);
  if (!failed) return report.passed(name);
  report.failed(name, indented(">>> " + failed->example.entry) + "      expected\n" +
                          indented(failed->example.expected) + "      got\n" + indented(failed->actual));
}

void run_function(Session& session, const std::string& name, Report& report) {
  const Result result = session.eval(name + "();");
  check_not_stopped(result);
  if (result.status == Status::Done) return report.passed(name);
  report.failed(name, indented(result.output + result.diagnostics));
}

void test_methods(Session& session, const std::string& name, const interp::StructType& type, Report& report) {
  for (const auto& [method, function] : type.methods) {
    const std::string full = name + "." + method;
    test_examples(session, full + " (example)", function_page(full, function).documentation, report);
  }
}

bool is_defined_here(const Value& value, const std::string& path) {
  const auto definition = definition_of(value);
  return definition && definition->file == path;
}

void test_program(Session& session, const std::string& path, Report& report) {
  session.interpreter().main().set("is_main", false);
  std::error_code ignored;
  session.interpreter().main().path = std::filesystem::weakly_canonical(path, ignored).string();
  const Result loaded = session.eval_file(path);
  check_not_stopped(loaded);
  if (loaded.status != Status::Done) return report.failed("running the file", indented(loaded.diagnostics));
  const std::vector<std::string> names = session.interpreter().main().names;
  for (const std::string& name : names) {
    const Value* found = session.interpreter().main().find(name);
    if (found == nullptr || !is_defined_here(*found, path)) continue;
    const Value value = *found;
    if (value.is(Tag::StructType)) {
      const auto& type = value.as<interp::StructType>();
      test_examples(session, name + " (example)", type.documentation, report);
      test_methods(session, name, type, report);
    } else if (value.is(Tag::Function)) {
      test_examples(session, name + " (example)", function_page(name, value).documentation, report);
      if (name.starts_with("test_")) run_function(session, name, report);
    }
  }
}

void test_file(const CommandLine& line, const std::string& path, Report& report) {
  Session::Options options;
  options.color_errors = !line.no_color && wants_color(STDOUT_FILENO);
  options.json = line.json;
  Session session(std::move(options));
  report.file(path);
  if (!path.ends_with(".md")) return test_program(session, path, report);
  try {
    test_examples(session, "examples", read_text(path), report);
  } catch (const lang::UserError& error) {
    report.failed("reading the file", indented(lang::render(error.diagnostic())));
  }
}

}  // namespace

int run_tests(const CommandLine& line) {
  watch_interrupts(SecondInterrupt::Leave);
  Report report(!line.no_color && wants_color(STDOUT_FILENO));
  const ProgramFiles files = find_programs(line.files);
  for (const lang::Diagnostic& failure : files.unreadable) write_diagnostic(failure, line);
  for (const std::string& path : files.paths) test_file(line, path, report);
  const int code = report.finish();
  return files.unreadable.empty() ? code : kExitUsage;
}

}  // namespace kiln::repl

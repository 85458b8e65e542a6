// Runs Kiln scripts and compares what they show with the expectations beside it.
//
//   script_runner [--update] [--errors] [--hot n] [--hot-loops n] [--evaluate-flows] [--check] [--device d]
//   [--operands d] files or folders
//
// In a script, the output of a line's statements (what each prints, then its value if it is an expression) is
// expected in comments `# => text`: behind the line, or on lines of their own below it, one for each line of
// output. An error is expected as `# => ! Kind: message`. With --errors, a whole file is run and the
// diagnostic that it ends in is compared with the file of the same name ending in `.expected`. --update
// writes what was found. With --hot, functions are compiled after n tensor ops; what they show must not
// change. With --hot-loops loops run as flow graphs after n iterations, with --evaluate-flows step by step.
// With --check every compiled call runs beside the interpreter, and nothing may be told of it. With --device
// new tensors are there; what scripts show of them must be as on the CPU, but for the device's name. With
// --operands the tensors and the layers of nn that a script makes are there, and the default device is the
// CPU still.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "interpreter/capture/stages.h"
#include "interpreter/interpreter.h"
#include "lang/ast.h"
#include "lang/parse.h"
#include "tensor/device.h"
#include "tensor/op.h"
#include "tensor/product_mode.h"
#include "tests/scripts/faults.h"

namespace {

namespace fs = std::filesystem;
using kiln::interp::Interpreter;

constexpr std::string_view kMark = "# => ";

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string without_trailing_space(std::string line) {
  line.erase(line.find_last_not_of(" \t") + 1);
  return line;
}

// The place of the mark in a line, outside of quotes; npos when there is none.
std::size_t mark_in(const std::string& line) { return line.find(kMark); }

int hot_after = -1;
std::optional<std::int64_t> hot_trips;
bool evaluates_flows = false;

// Where --device or --operands has the tensors.
kiln::Device device_of_tensors{};

// As if the tensors were on the CPU.
std::string with_cpu(std::string line) {
  const kiln::Device device = device_of_tensors;
  const std::string name = to_string(device);
  if (device == kiln::Device{}) return line;
  for (std::size_t at = line.find(name); at != std::string::npos; at = line.find(name, at))
    line.replace(at, name.size(), "cpu");
  return line;
}

// Scripts whose tensors are on `device` while the default device is another: what makes tensors in them
// becomes a call of a function beside it, which says the device.
class Operands {
 public:
  explicit Operands(kiln::Device device) : device_(to_string(device)) {
    for (const kiln::Op* const op : kiln::OpTable::get().ops())
      if (op->signature.inputs == 0 && names_device(*op)) names_.insert(spoken_name(*op));
    std::string any;
    for (const std::string& name : names_) any += (any.empty() ? "" : "|") + name;
    maker_ = std::regex("(^|[^.\\w])(" + any + ")\\(");
  }

  // The functions beside those that make tensors and layers.
  std::string functions() const {
    std::string text = "fn _made_of(layer) = (*xs, **named) => layer(*xs, **named).to(\"" + device_ + "\")\n";
    for (const std::string& name : names_)
      text += "fn _made_" + name + "(*xs, **named) {\n  if \"device\" not in named { named[\"device\"] = \"" +
              device_ + "\" }\n  return " + name + "(*xs, **named)\n}\n";
    return text;
  }

  std::string rewritten(const std::string& text) const {
    static const std::regex kDefinition("\\bfn _made_"), kLayer("\\bnn\\.([A-Z]\\w*)\\(");
    const std::string made = std::regex_replace(text, maker_, "$1_made_$2(");
    return std::regex_replace(std::regex_replace(made, kDefinition, "fn "), kLayer, "_made_of(nn.$1)(");
  }

 private:
  static bool names_device(const kiln::Op& op) {
    const auto& all = op.signature.parameters;
    return std::any_of(all.begin(), all.end(),
                       [](const kiln::Parameter& each) { return each.kind == kiln::ArgKind::Device; });
  }

  std::string device_;
  std::set<std::string> names_{"full", "tensor", "from_list"};
  std::regex maker_;
};

std::optional<Operands> operands;

struct Run {
  std::string out;
  Interpreter interpreter;
  explicit Run(const std::string& folder) : interpreter(options(out)) { fs::current_path(folder); }

  static kiln::interp::Options options(std::string& out) {
    kiln::interp::Options options;
    options.out = [&out](std::string_view text) { out += text; };
    options.err = options.out;
    options.hot_after = hot_after;
    options.hot_trips = hot_trips;
    options.evaluates_flows = evaluates_flows;
    return options;
  }
};

// One top-level statement: the lines it ends on and its text, in its place among empty lines.
struct Statement {
  std::string text;
  std::size_t last_line;  // from 0
};

std::vector<Statement> statements_of(const kiln::lang::SourceFile& file) {
  const std::string text(file.text());
  const auto ast = kiln::lang::parse(file);
  std::vector<Statement> statements;
  std::uint32_t begin = 0;
  for (const kiln::lang::Stmt* s : ast->main->body->statements) {
    const std::string before(static_cast<std::size_t>(std::count(text.begin(), text.begin() + begin, '\n')),
                             '\n');
    const std::string own = text.substr(begin, s->span.end - begin);
    statements.push_back(
        {before + (operands ? operands->rewritten(own) : own), file.locate(s->span.end).line - 1});
    begin = s->span.end;
    while (begin < text.size() && (text[begin] == ' ' || text[begin] == ';')) ++begin;
  }
  return statements;
}

// Adds to `run.out` what a statement shows.
void execute(Run& run, const std::string& name, const Statement& statement) {
  try {
    const auto outcome = run.interpreter.run(name, statement.text);
    if (outcome.has_value && !outcome.value.is_none()) run.out += run.interpreter.repr(outcome.value) + "\n";
  } catch (const kiln::lang::UserError& e) {
    run.out += "! " + e.diagnostic().kind + ": " + e.diagnostic().message + "\n";
  }
}

class ScriptTest {
 public:
  explicit ScriptTest(const fs::path& path)
      : path_(path), text_(read(path)), lines_(lines_of(text_)), run_(path.parent_path().string()) {}

  // Number of lines whose output differs.
  int run(bool update) {
    try {
      return compare(update);
    } catch (const kiln::lang::UserError& e) {  // the script does not parse
      std::cerr << kiln::lang::render(e.diagnostic());
      return 1;
    }
  }

 private:
  int compare(bool update) {
    const std::string name = path_.filename().string();
    if (operands) run_.interpreter.run("operands", operands->functions());
    const auto statements = statements_of(run_.interpreter.sources().add(name, text_));
    for (std::size_t i = 0; i < statements.size(); ++i) {
      now_running(path_.string() + ":" + std::to_string(statements[i].last_line + 1));
      execute(run_, name, statements[i]);
      if (i + 1 < statements.size() && statements[i + 1].last_line == statements[i].last_line) continue;
      check(statements[i].last_line, update);
      run_.out.clear();
    }
    if (update) write();
    return failures_;
  }

  struct Expectation {
    std::size_t line;
    std::vector<std::string> output;
  };

  std::vector<std::string> expected_at(std::size_t line) const {
    std::vector<std::string> expected;
    if (const auto mark = mark_in(lines_[line]); mark != std::string::npos) {
      expected.push_back(lines_[line].substr(mark + kMark.size()));
    }
    for (std::size_t below = line + 1; below < lines_.size(); ++below) {
      const auto first = lines_[below].find_first_not_of(" \t");
      if (first == std::string::npos || lines_[below].compare(first, kMark.size(), kMark) != 0) break;
      expected.push_back(lines_[below].substr(first + kMark.size()));
    }
    return expected;
  }

  void check(std::size_t line, bool quiet) {
    std::vector<std::string> found = lines_of(run_.out);
    for (std::string& text : found) text = without_trailing_space(with_cpu(std::move(text)));
    found_.push_back({line, found});
    const std::vector<std::string> expected = expected_at(line);
    if (found == expected) return;
    ++failures_;
    if (quiet) return;
    std::cerr << path_.string() << ":" << line + 1 << ": " << lines_[line] << "\n";
    for (const std::string& text : expected) std::cerr << "  expected: " << text << "\n";
    for (const std::string& text : found) std::cerr << "  found:    " << text << "\n";
  }

  void write() const {
    std::ofstream file(path_, std::ios::binary);
    std::size_t next = 0;
    for (std::size_t line = 0; line < lines_.size(); ++line) {
      while (next + 1 < found_.size() && found_[next].line < line) ++next;
      if (next >= found_.size() || found_[next].line != line) {
        file << lines_[line] << "\n";
        continue;
      }
      write_statement(file, line, found_[next].output);
      line += expected_at(line).size() - (mark_in(lines_[line]) != std::string::npos ? 1 : 0);
    }
  }

  void write_statement(std::ofstream& file, std::size_t line, const std::vector<std::string>& output) const {
    const std::string code = without_trailing_space(lines_[line].substr(0, mark_in(lines_[line])));
    const bool beside = output.size() == 1 && code.size() + output[0].size() < 100;
    file << code;
    if (beside) file << "  " << kMark << output[0];
    file << "\n";
    if (beside) return;
    for (const std::string& text : output) file << without_trailing_space(std::string(kMark) + text) << "\n";
  }

  fs::path path_;
  std::string text_;
  std::vector<std::string> lines_;
  Run run_;
  std::vector<Expectation> found_;
  int failures_ = 0;
};

// The diagnostic a program ends in, as the command shows it.
int run_error_test(const fs::path& path, bool update) {
  Run run(path.parent_path().string());
  std::string found = "no error\n";
  try {
    run.interpreter.run_file(path.filename().string());
  } catch (const kiln::lang::UserError& e) {
    found = kiln::lang::render(e.diagnostic());
  }
  fs::path beside = path;
  beside.replace_extension(".expected");
  if (update) {
    std::ofstream(beside, std::ios::binary) << found;
    return 0;
  }
  if (read(beside) == found) return 0;
  std::cerr << path.string() << ": another diagnostic than in " << beside.filename().string() << "\n"
            << "--- expected\n"
            << read(beside) << "--- found\n"
            << found;
  return 1;
}

std::vector<fs::path> scripts(const std::vector<std::string>& arguments) {
  std::vector<fs::path> paths;
  for (const std::string& argument : arguments) {
    if (!fs::is_directory(argument)) {
      paths.push_back(fs::absolute(argument));
      continue;
    }
    for (const auto& entry : fs::directory_iterator(argument)) {
      if (entry.path().extension() == ".kiln") paths.push_back(fs::absolute(entry.path()));
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

int main(int argc, char** argv) {
  bool update = false;
  bool errors = false;
  std::vector<std::string> arguments;
  kiln::set_product_mode(kiln::ProductMode::Exact);  // on cards scripts show the CPU's bits
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--update") {
      update = true;
    } else if (argument == "--errors") {
      errors = true;
    } else if (argument == "--hot-loops" && i + 1 < argc) {
      hot_trips = std::stoi(argv[++i]);
    } else if (argument == "--evaluate-flows") {
      evaluates_flows = true;
    } else if (argument == "--hot" && i + 1 < argc) {
      hot_after = std::stoi(argv[++i]);
    } else if (argument == "--check") {
      kiln::interp::set_checking(true);
    } else if (argument == "--device" && i + 1 < argc) {
      device_of_tensors = kiln::parse_device(argv[++i]);
      kiln::set_default_device(device_of_tensors);
      tell_faults();
    } else if (argument == "--operands" && i + 1 < argc) {
      device_of_tensors = kiln::parse_device(argv[++i]);
      operands.emplace(device_of_tensors);
    } else {
      arguments.push_back(argument);
    }
  }
  int failures = 0;
  const std::vector<fs::path> paths = scripts(arguments);
  for (const fs::path& path : paths) {
    failures += errors ? run_error_test(path, update) : ScriptTest(path).run(update);
  }
  std::cout << paths.size() << " files, " << failures << (update ? " changed" : " failures") << "\n";
  return failures == 0 || update ? 0 : 1;
}

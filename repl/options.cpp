#include "repl/options.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "interpreter/capture/backend.h"
#include "lang/diagnostic.h"
#include "repl/run_ranks.h"

namespace kiln::repl {
namespace {

struct Option {
  std::string_view name;
  std::string_view value;  // what it takes; empty for a switch
  std::string_view meaning;
  void (*apply)(CommandLine&, std::string_view value);
};

void add_code(CommandLine& line, std::string_view code) {
  if (line.mode == Mode::Code) line.code += '\n';
  line.mode = Mode::Code;
  line.code += code;
}

constexpr std::array<Option, 14> kOptions{{
    {"-e", "code", "run the code; the last expression's value is printed", add_code},
    {"-i", "", "go on at the prompt after the file or the code",
     [](CommandLine& line, std::string_view) { line.prompt_after = true; }},
    {"--device", "name", "where new tensors live: cpu, cuda, cuda:1",
     [](CommandLine& line, std::string_view value) { line.device = value; }},
    {"--threads", "n", "threads that kernels use",
     [](CommandLine& line, std::string_view value) { line.threads = value; }},
    {"--backend", "name", "how compiled functions run: fused, aot_eager, eager",
     [](CommandLine& line, std::string_view value) { line.backend = value; }},
    {"--no-hot", "", "never compile a function because it is called often",
     [](CommandLine& line, std::string_view) { line.no_hot = true; }},
    {"--no-color", "", "plain text; so does NO_COLOR=1",
     [](CommandLine& line, std::string_view) { line.no_color = true; }},
    {"--no-init", "", "do not run ~/.config/kiln/init.kiln first, nor read settings",
     [](CommandLine& line, std::string_view) { line.no_init = true; }},
    {"--json", "", "diagnostics as one JSON object a line",
     [](CommandLine& line, std::string_view) { line.json = true; }},
    {"--check", "", "run compiled calls beside the interpreter; with fmt: only list files that would change",
     [](CommandLine& line, std::string_view) { line.check = true; }},
    {"--trace", "file", "write what time goes to, as a trace for Perfetto; also behind the program's file",
     [](CommandLine& line, std::string_view value) { line.trace = value; }},
    {"--version", "", "print the version",
     [](CommandLine& line, std::string_view) { line.mode = Mode::Version; }},
    {"--help", "", "print this", [](CommandLine& line, std::string_view) { line.mode = Mode::Help; }},
    {"-h", "", "", [](CommandLine& line, std::string_view) { line.mode = Mode::Help; }},
}};

struct Tool {
  std::string_view name;
  Mode mode;
};
constexpr std::array<Tool, 8> kTools{{{"run", Mode::Run},
                                      {"build", Mode::Build},
                                      {"report", Mode::Report},
                                      {"fmt", Mode::Format},
                                      {"check", Mode::Check},
                                      {"test", Mode::Test},
                                      {"explain", Mode::Explain},
                                      {"lsp", Mode::LanguageServer}}};

const Option* known_option(std::string_view name) {
  const auto found = std::ranges::find(kOptions, name, &Option::name);
  return found == kOptions.end() ? nullptr : &*found;
}

const Option& find_option(std::string_view name) {
  if (const Option* known = known_option(name)) return *known;
  std::vector<std::string_view> names;
  for (const Option& option : kOptions) names.push_back(option.name);
  const std::string_view near = lang::nearest(name, names);
  throw UsageError{fmt::format("there is no option `{}`", name),
                   near.empty() ? "" : fmt::format("did you mean `{}`?", near)};
}

// "--trace" of "--trace=t.json".
std::string_view option_name(std::string_view word) {
  return word.starts_with("--") ? word.substr(0, word.find('=')) : word;
}

bool is_option(std::string_view argument) { return argument.size() > 1 && argument.front() == '-'; }

class Reader {
 public:
  explicit Reader(std::span<const char* const> arguments) : rest_(arguments.begin(), arguments.end()) {}

  CommandLine read() {
    while (at_ < rest_.size()) {
      const std::string_view argument = rest_[at_++];
      if (argument == "--") {
        plain_only_ = true;
      } else if (is_option(argument) && !plain_only_) {
        read_option(argument);
      } else if (read_tool(argument)) {
        return tool_line();
      } else if (read_plain(argument)) {
        break;
      }
    }
    finish();
    return std::move(line_);
  }

 private:
  // The first word may be a tool. True where what follows is read in the tool's own way.
  bool read_tool(std::string_view word) {
    if (line_.mode != Mode::Prompt || plain_only_) return false;
    const auto tool = std::ranges::find(kTools, word, &Tool::name);
    if (tool == kTools.end()) return false;
    if (tool->mode == Mode::Run && runs_model()) return true;  // as the model alone
    line_.mode = tool->mode;
    tool_ = tool->name;
    before_.assign(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(at_) - 1);
    return true;
  }

  CommandLine tool_line() {
    switch (line_.mode) {
      case Mode::Run:
        return run_line();
      case Mode::Build:
        return build_line();
      case Mode::Report:
        return report_line();
      case Mode::LanguageServer:  // editors add words of their own, as `--stdio`
        check_trace();
        return std::move(line_);
      default:
        return read();
    }
  }

  // `kiln run model.onnx` is one process: a model is no program of ranks.
  bool runs_model() const { return at_ < rest_.size() && std::string_view(rest_[at_]).ends_with(".onnx"); }

  // All that follows belongs to the job, unless it asks for help.
  CommandLine run_line() {
    line_.options_before = before_;
    line_.arguments.assign(rest_.begin() + static_cast<std::ptrdiff_t>(at_), rest_.end());
    if (line_.arguments == std::vector<std::string>{"--help"}) line_.mode = Mode::Help;
    return std::move(line_);
  }

  // The program and its function; all else is for what builds (stdlib/build_command.kiln).
  CommandLine build_line() {
    line_ = run_line();
    if (line_.mode == Mode::Help) return std::move(line_);
    std::vector<std::string>& rest = line_.arguments;
    if (rest.empty() || is_option(rest.front()))
      throw UsageError{"`kiln build` needs a program", "`kiln build f.kiln --entry f -o f.so f.h`"};
    line_.script = rest.front();
    rest.erase(rest.begin());
    const auto option = std::ranges::find(rest, "--entry");
    if (option == rest.end() || option + 1 == rest.end() || !is_name(*(option + 1)))
      throw UsageError{"`kiln build` needs the name of a function, which C can have, too",
                       fmt::format("`kiln build {} --entry f -o f.so f.h`", line_.script)};
    line_.entry = *(option + 1);
    rest.erase(option, option + 2);
    return std::move(line_);
  }

  // `-o page.html` and options before the program; behind it are the program's arguments.
  CommandLine report_line() {
    line_.output = "report.html";
    while (at_ < rest_.size() && is_option(rest_[at_]) && line_.mode == Mode::Report) {
      const std::string_view word = rest_[at_++];
      if (word != "-o") {
        read_option(word);
      } else if (at_ < rest_.size()) {
        line_.output = rest_[at_++];
      }
    }
    if (line_.mode == Mode::Help || line_.mode == Mode::Version) return std::move(line_);
    if (line_.mode != Mode::Report || at_ == rest_.size())
      throw UsageError{"`kiln report` needs a program", "`kiln report -o page.html f.kiln`"};
    line_.script = rest_[at_++];
    read_arguments();
    finish();
    return std::move(line_);
  }
  static bool is_name(std::string_view text) {
    const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
           std::ranges::all_of(text, fits);
  }

  void read_option(std::string_view argument) {
    const Option& option = find_option(option_name(argument));
    const bool has_equals = argument.size() > option.name.size();
    if (option.value.empty()) {
      if (has_equals) throw UsageError{fmt::format("`{}` takes no value", option.name), {}};
      return option.apply(line_, {});
    }
    const bool has_word = !has_equals && at_ < rest_.size();
    const std::string_view value = has_equals ? argument.substr(option.name.size() + 1)
                                   : has_word ? std::string_view(rest_[at_++])
                                              : std::string_view();
    if (value.empty() && !(has_word && option.apply == add_code))
      throw UsageError{fmt::format("`{}` needs a value", option.name),
                       fmt::format("`{} {}`", option.name, option.value)};
    option.apply(line_, value);
  }

  // What stands behind the program belongs to it, but for `--trace`. A program that has an option of that
  // name is given it behind `--`.
  void read_arguments() {
    while (at_ < rest_.size()) {
      const std::string_view word = rest_[at_++];
      if (word == "--") plain_only_ = true;
      if (option_name(word) == "--trace" && !plain_only_) {
        read_option(word);
      } else {
        line_.arguments.emplace_back(word);
      }
    }
  }

  // A word that is no option. True when all that follows belongs to the program.
  bool read_plain(std::string_view argument) {
    if (!tool_.empty()) {
      line_.files.emplace_back(argument);
      return false;
    }
    if (line_.mode == Mode::Code) {
      line_.arguments.emplace_back(argument);
    } else {
      if (line_.mode == Mode::Prompt) line_.mode = Mode::Script;
      line_.script = argument;
    }
    read_arguments();
    return true;
  }

  void finish() const {
    const bool stopped = line_.mode == Mode::Version || line_.mode == Mode::Help;
    const bool takes_files = !tool_.empty() && line_.mode != Mode::Explain && line_.mode != Mode::Report;
    if (takes_files && !stopped && line_.files.empty()) {
      throw UsageError{fmt::format("`kiln {}` needs files", tool_), {}};
    }
    if (line_.check && !tool_.empty() && tool_ != "fmt")
      throw UsageError{fmt::format("`--check` goes with programs and `kiln fmt`, not with `kiln {}`", tool_),
                       {}};
    if (!stopped) check_trace();
    if (!line_.backend.empty() && !interp::capture::is_backend(line_.backend)) {
      throw UsageError{fmt::format("there is no backend `{}`", line_.backend),
                       interp::capture::known_backends()};
    }
  }

  // A trace written over a program is what comes of a file that was left out.
  void check_trace() const {
    if (line_.trace.empty()) return;
    const std::string help = "`kiln --trace trace.json f.kiln`; at the prompt `:trace trace.json`";
    const bool runs = line_.mode == Mode::Script || line_.mode == Mode::Code || line_.mode == Mode::Report;
    if (!runs) throw UsageError{"`--trace` goes with programs", help};
    if (std::string_view(line_.trace).ends_with(".kiln"))
      throw UsageError{fmt::format("`--trace` would write over the program `{}`", line_.trace), help};
  }

  std::vector<std::string_view> rest_;
  std::vector<std::string> before_;  // words before the tool
  std::size_t at_ = 0;
  bool plain_only_ = false;
  std::string_view tool_;
  CommandLine line_;
};

}  // namespace

CommandLine parse_command_line(std::span<const char* const> arguments) { return Reader(arguments).read(); }

std::size_t words_of_option(std::span<const std::string> words) {
  if (words.empty()) return 0;
  const std::string_view name = option_name(words.front());
  const Option* const option = known_option(name);
  if (option == nullptr) return 0;
  const bool has_word = !option->value.empty() && name.size() == words.front().size() && words.size() > 1;
  return has_word ? 2 : 1;
}

std::string usage_text() {
  std::string text =
      "kiln                          the prompt\n"
      "kiln [options] file args…     run a program\n"
      "kiln [options] -              run a program from standard input\n"
      "kiln [options] -e code        run code\n"
      "kiln run -n 4 file args…      run a program, or without a file the prompt, as ranks of one job\n"
      "kiln build file --entry f     compile a function to a shared object and a header for C:\n"
      "                              types as its signature says, or --shape 'x=f32[8, 16]' --size n=8, -o "
      "f.so f.h\n"
      "kiln report [-o page.html] f  run a program, and write a page of what was compiled of it, and why\n"
      "kiln fmt [--check] files      format programs in place\n"
      "kiln check files              look for mistakes without running\n"
      "kiln jupyter install          make Kiln known to Jupyter; `kiln jupyter` lists what else there is\n"
      "kiln test files               run `>>>` examples and functions named test_…\n"
      "                              a folder stands for the .kiln files below it: hidden folders are passed "
      "over,\n"
      "                              one of more than 10000 files and folders is refused, and nothing is "
      "done\n"
      "kiln explain [code]           what the code of an error means, such as K0501; without one all codes\n"
      "kiln lsp                      the language server, for editors: it talks on its standard streams\n"
      "\noptions:\n";
  for (const Option& option : kOptions) {
    if (option.meaning.empty()) continue;
    text += fmt::format("  {:<18} {}\n", fmt::format("{} {}", option.name, option.value), option.meaning);
  }
  text += "\noptions of `kiln run`:\n" + run_usage();
  return text + "\nexit codes: 0 done, 1 uncaught error, 2 wrong usage or syntax, 130 interrupted\n";
}

}  // namespace kiln::repl

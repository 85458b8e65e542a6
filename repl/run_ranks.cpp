#include "repl/run_ranks.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "dist/launch/job.h"
#include "lang/diagnostic.h"
#include "repl/terminal.h"
#include "repl/write_text.h"

namespace kiln::repl {
namespace {

struct JobOption {
  std::string_view name, value, meaning;
  void (*apply)(dist::JobOptions&, std::string_view value);
};

int parse_count(std::string_view option, std::string_view value) {
  int count = 0;
  const char* const end = value.data() + value.size();
  if (std::from_chars(value.data(), end, count).ptr != end || count < 1)
    throw UsageError{fmt::format("`{}` takes a number from 1 up, not `{}`", option, value), {}};
  return count;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) result.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

void parse_elastic(dist::JobOptions& job, std::string_view value) {
  const std::size_t colon = value.find(':');
  job.least = parse_count("--elastic", value.substr(0, colon));
  job.size = colon == std::string_view::npos ? job.least : parse_count("--elastic", value.substr(colon + 1));
  if (job.size < job.least)
    throw UsageError{fmt::format("`--elastic` takes the fewest ranks first, not `{}`", value),
                     "--elastic 2:4"};
}

constexpr std::array kJobOptions{
    JobOption{"-n", "ranks", "how many ranks; as many as the hosts take where it is not given",
              [](dist::JobOptions& job, std::string_view value) { job.size = parse_count("-n", value); }},
    JobOption{"--hosts", "a:2,b:2", "hosts, and how many ranks each takes",
              [](dist::JobOptions& job, std::string_view value) {
                job.hosts = dist::parse_hosts(std::string(value));
              }},
    JobOption{"--agent", "command", "starts a command on a host, `ssh {host}` where it is not given",
              [](dist::JobOptions& job, std::string_view value) { job.agent = words(value); }},
    JobOption{"--elastic", "2:4", "go on without ranks that are lost, with new hosts: fewest and most ranks",
              [](dist::JobOptions& job, std::string_view value) { parse_elastic(job, value); }},
    JobOption{"--discover", "script", "writes the hosts of an elastic job, one a line; asked each second",
              [](dist::JobOptions& job, std::string_view value) { job.discover = value; }},
};

const JobOption* find_option(std::string_view name) {
  const auto found = std::ranges::find(kJobOptions, name, &JobOption::name);
  return found == kJobOptions.end() ? nullptr : &*found;
}

// Takes the job's options out of those before the program; what is left is what each rank runs.
dist::JobOptions parse_job(std::span<const std::string> rest, std::vector<std::string>& ranks) {
  dist::JobOptions job;
  while (!rest.empty()) {
    std::size_t words = words_of_option(rest);
    if (const JobOption* const option = find_option(rest.front())) {
      if (rest.size() < 2)
        throw UsageError{fmt::format("`{}` needs a value", option->name),
                         fmt::format("`{} {}`", option->name, option->value)};
      option->apply(job, rest[1]);
      words = 2;
    } else {
      if (words == 0) words = rest.size();
      ranks.insert(ranks.end(), rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(words));
    }
    rest = rest.subspan(words);
  }
  return job;
}

// A word that is no option of ranks may be one of the job with a slip in it.
void suggest_option(std::string_view word) {
  std::vector<std::string_view> names;
  for (const JobOption& option : kJobOptions) names.push_back(option.name);
  const std::string_view near = lang::nearest(word, names);
  if (word.starts_with('-') && words_of_option({{std::string(word)}}) == 0 && !near.empty())
    throw UsageError{fmt::format("there is no option `{}`", word), fmt::format("did you mean `{}`?", near)};
}

CommandLine parse_program(std::span<const std::string> arguments) {
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  try {
    return parse_command_line(pointers);
  } catch (const UsageError&) {
    for (const std::string& word : arguments) suggest_option(word);
    throw;
  }
}

// What each rank's own command line must be; wrong ones are told once, here.
CommandLine check_program(std::span<const std::string> arguments) {
  CommandLine line = parse_program(arguments);
  if (line.mode != Mode::Script && line.mode != Mode::Code && line.mode != Mode::Prompt)
    throw UsageError{"`kiln run` runs programs, or the prompt", {}};
  if (line.script == "-")
    throw UsageError{"ranks cannot all read their program from standard input", "give a file"};
  if (line.mode == Mode::Script && access(line.script.c_str(), F_OK) != 0)
    throw UsageError{fmt::format("there is no file `{}`", line.script), {}};
  return line;
}

void complete(dist::JobOptions& job) {
  if (job.agent.empty()) job.agent = {"ssh", "{host}"};
  int slots = 0;
  for (const dist::HostSlots& host : job.hosts) slots += host.slots;
  if (job.size == 0) job.size = slots;
  if (!job.discover.empty() && job.least == 0)
    throw UsageError{"`--discover` is for elastic jobs",
                     "say how few and how many ranks there may be: `--elastic 2:4`"};
  if (job.size == 0) throw UsageError{"`kiln run` needs the number of ranks", "kiln run -n 4 file.kiln"};
}

}  // namespace

int run_ranks(const CommandLine& line) {
  std::vector<std::string> rest = line.options_before;
  try {
    dist::JobOptions job = parse_job(line.arguments, rest);
    complete(job);
    const CommandLine program = check_program(rest);
    // The trace is that of rank 0, which runs here unless hosts are named.
    if (!program.trace.empty() && job.hosts.empty()) check_writable(program.trace);
    job.is_prompt = program.mode == Mode::Prompt || program.prompt_after;
    if (job.is_prompt && job.least > 0) throw UsageError{"an elastic job runs a program, not the prompt", {}};
    job.color = !program.no_color && wants_color(STDOUT_FILENO) && wants_color(STDERR_FILENO);
    job.command = {std::filesystem::read_symlink("/proc/self/exe").string()};
    job.command.insert(job.command.end(), rest.begin(), rest.end());
    return dist::run_job(job);
  } catch (const std::invalid_argument& error) {
    throw UsageError{error.what(), {}};
  } catch (const std::runtime_error& error) {
    throw UsageError{fmt::format("the job cannot begin: {}", error.what()), {}};
  }
}

std::string run_usage() {
  std::string text;
  for (const JobOption& option : kJobOptions)
    text += fmt::format("  {:<18} {}\n", fmt::format("{} {}", option.name, option.value), option.meaning);
  return text;
}

}  // namespace kiln::repl

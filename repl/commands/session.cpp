// Commands on the session itself: reset set shell quit.
#include <sys/wait.h>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>

#include "interpreter/values/natives.h"
#include "jit/pipeline/code_cache.h"
#include "repl/command.h"
#include "repl/paths.h"
#include "repl/settings.h"
#include "tensor/device.h"
#include "tensor/interrupt.h"
#include "tensor/parallel.h"

namespace kiln::repl {
namespace {

// ---- :set ----

[[noreturn]] void bad_value(std::string_view key, std::string_view values, std::string_view got) {
  command_error("ValueError", fmt::format("`{}` takes {}, not `{}`", key, values, got));
}

int parse_int(std::string_view key, std::string_view text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
    bad_value(key, fmt::format("a whole number from {} to {}", least, most), text);
  }
  return value;
}

template <int interp::PrintOptions::* Field>
std::string get_print(Session&) {
  return std::to_string(interp::print_options().*Field);
}
std::string get_color(Session& session) { return session.color() ? "on" : "off"; }
void set_color(Session& session, std::string_view value) {
  if (value != "on" && value != "off") bad_value("color", "on or off", value);
  session.options().color = session.options().color_errors = value == "on";
}
std::string get_threads(Session&) { return std::to_string(num_threads()); }
void set_threads(Session&, std::string_view value) { set_num_threads(parse_int("threads", value, 1, 4096)); }
std::string get_device(Session&) { return to_string(default_device()); }
void set_device(Session&, std::string_view value) { set_default_device(parse_device(value)); }

constexpr std::size_t kMebibyte = std::size_t{1} << 20;
std::string get_cache(Session&) {
  const std::size_t bytes = jit::code_cache_bytes();
  return bytes == 0 ? "off" : std::to_string(bytes / kMebibyte);
}
void set_cache(Session&, std::string_view value) {
  const int mebibytes = value == "off" ? 0 : parse_int("cache", value, 1, 1 << 20);
  jit::use_code_cache({kernel_folder, static_cast<std::size_t>(mebibytes) * kMebibyte});
}

constexpr std::array<Setting, 8> kSettings{{
    {"precision", "0 to 17", "digits after the point in printed tensors",
     get_print<&interp::PrintOptions::precision>,
     [](Session&, std::string_view v) {
       interp::print_options().precision = parse_int("precision", v, 0, 17);
     }},
    {"width", "20 to 10000", "columns a printed value may take", get_print<&interp::PrintOptions::width>,
     [](Session&, std::string_view v) { interp::print_options().width = parse_int("width", v, 20, 10'000); }},
    {"threshold", "a count", "elements above which a tensor is elided",
     get_print<&interp::PrintOptions::threshold>,
     [](Session&, std::string_view v) {
       interp::print_options().threshold = parse_int("threshold", v, 0, 1'000'000'000);
     }},
    {"edge", "1 to 1000", "items shown at each end of an elided dimension",
     get_print<&interp::PrintOptions::edge_items>,
     [](Session&, std::string_view v) {
       interp::print_options().edge_items = parse_int("edge", v, 1, 1000);
     }},
    {"color", "on, off", "colour in results and errors", get_color, set_color},
    {"threads", "1 to 4096", "threads that kernels use", get_threads, set_threads},
    {"device", "cpu, cuda, cuda:1", "where new tensors live", get_device, set_device},
    {"cache", "off, 1 to 1048576", "MiB of disk for compiled kernels", get_cache, set_cache},
}};

void set(Session& session, std::string_view argument) {
  if (argument.empty()) {
    for (const Setting& setting : kSettings) {
      session.write(fmt::format("  {:<10} {:<6} {}\n", setting.key, setting.get(session), setting.meaning));
    }
    return;
  }
  const std::size_t end = std::min(argument.find_first_of(" ="), argument.size());
  const std::string_view key = argument.substr(0, end);
  std::string_view value = trim(argument.substr(end));
  if (value.starts_with('=')) value = trim(value.substr(1));
  std::vector<std::string_view> keys;
  for (const Setting& setting : kSettings) {
    keys.push_back(setting.key);
    if (setting.key != key) continue;
    if (!value.empty()) return setting.set(session, value);
    return session.write(fmt::format("{} is {} ({})\n", key, setting.get(session), setting.values));
  }
  const std::string_view near = lang::nearest(key, keys);
  command_error("NameError", fmt::format("there is no setting `{}`", key),
                near.empty() ? "`:set` lists the settings" : fmt::format("did you mean `:set {}`?", near));
}

// ---- the others ----

void reset(Session& session, std::string_view) {
  session.reset();
  session.write("forgot every variable and loaded module\n");
}

// In a shell of its own, with the terminal. What Ctrl-C is for is the command.
void shell(Session& session, std::string_view command) {
  if (command.empty()) usage_error(*find_command("shell"), "give a command of the system");
  session.interpreter().flush();
  const int status = std::system(std::string(command).c_str());
  interrupt_requested.store(false);
  if (status == -1) command_error("IOError", "no process could be started");
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code != 0) session.write(fmt::format("exit code {}\n", code));
}

void quit(Session&, std::string_view argument) {
  throw interp::Exit{argument.empty() ? 0 : parse_int("quit", argument, 0, 255)};
}

constexpr std::array<Command, 4> kCommands{{
    {"set", "[key [value]]", "Session", "how values print, colour, threads, the disk cache",
     "kiln> :set\nkiln> :set precision 2\nkiln> tensor([1 / 3])\nkiln> :set precision 4\n", set,
     in_programs("print_options(precision=4)")},
    {"reset", "", "Session", "forget every variable and loaded module", "kiln> x = 1\nkiln> :reset\n", reset,
     no_function("`del` forgets a variable")},
    {"shell", "command", "Session", "run a command of the system; `!command` for short", "", shell,
     in_programs("run_process(\"echo kiln\")")},
    {"quit", "[code]", "Session", "leave; so do `exit`, `quit`, `:q` and Ctrl-D", "", quit,
     in_programs("exit(0)")},
}};

}  // namespace

std::span<const Setting> settings() { return kSettings; }

std::vector<std::string> words_of(const Setting& setting) {
  std::vector<std::string> words;
  for (std::string_view rest = setting.values; !rest.empty();) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view value = trim(rest.substr(0, end));
    if (value.find(' ') == std::string_view::npos) words.emplace_back(value);  // "1 to 100" is no word
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return words;
}

std::span<const Command> session_commands() { return kCommands; }

}  // namespace kiln::repl

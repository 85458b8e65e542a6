#include "repl/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "interpreter/values/natives.h"
#include "jit/pipeline/code_cache.h"
#include "repl/command.h"
#include "repl/paths.h"
#include "tensor/device.h"
#include "tensor/parallel.h"

namespace kiln::repl {
namespace {

[[noreturn]] void bad_value(std::string_view key, std::string_view values, std::string_view got) {
  command_error("ValueError", fmt::format("`{}` takes {}, not `{}`", key, values, got));
}

// ---- Printed values ----

template <int interp::PrintOptions::* Field>
std::string get_print(Session&) {
  return std::to_string(interp::print_options().*Field);
}
void set_precision(Session&, std::string_view value) {
  interp::print_options().precision = parse_whole_number("precision", value, 0, 17);
}
void set_threshold(Session&, std::string_view value) {
  interp::print_options().threshold = parse_whole_number("threshold", value, 0, 1'000'000'000);
}
void set_edge(Session&, std::string_view value) {
  interp::print_options().edge_items = parse_whole_number("edge", value, 1, 1000);
}

std::string get_width(Session& session) {
  return session.options().fits_width ? "auto" : std::to_string(interp::print_options().width);
}
void set_width(Session& session, std::string_view value) {
  if (value != "auto") interp::print_options().width = parse_whole_number("width", value, 20, 10'000);
  session.options().fits_width = value == "auto";
}

// ---- The prompt ----

std::string switch_text(bool is_on) { return is_on ? "on" : "off"; }
bool parse_switch(std::string_view key, std::string_view value) {
  if (value != "on" && value != "off") bad_value(key, "on or off", value);
  return value == "on";
}

std::string get_color(Session& session) { return switch_text(session.color()); }
void set_color(Session& session, std::string_view value) {
  session.options().color = session.options().color_errors = parse_switch("color", value);
}
std::string get_pager(Session& session) { return switch_text(session.options().pages); }
void set_pager(Session& session, std::string_view value) {
  session.options().pages = parse_switch("pager", value);
}
std::string get_links(Session& session) { return switch_text(session.options().links); }
void set_links(Session& session, std::string_view value) {
  session.options().links = parse_switch("links", value);
}
std::string get_numbers(Session& session) { return switch_text(session.options().numbers); }
void set_numbers(Session& session, std::string_view value) {
  session.options().numbers = parse_switch("numbers", value);
}

// ---- How programs run ----

std::string get_threads(Session&) { return std::to_string(num_threads()); }
void set_threads(Session&, std::string_view value) {
  set_num_threads(parse_whole_number("threads", value, 1, 4096));
}
std::string get_device(Session&) { return to_string(default_device()); }
void set_device(Session&, std::string_view value) { set_default_device(parse_device(value)); }

constexpr std::size_t kMebibyte = std::size_t{1} << 20;
std::string get_cache(Session&) {
  const std::size_t bytes = jit::code_cache_bytes();
  return bytes == 0 ? "off" : std::to_string(bytes / kMebibyte);
}
void set_cache(Session&, std::string_view value) {
  const int mebibytes = value == "off" ? 0 : parse_whole_number("cache", value, 1, 1 << 20);
  jit::use_code_cache({kernel_folder, static_cast<std::size_t>(mebibytes) * kMebibyte});
}

constexpr std::array<Setting, 11> kSettings{{
    {"precision", "0 to 17", "digits after the point in printed tensors",
     get_print<&interp::PrintOptions::precision>, set_precision},
    {"width", "auto, 20 to 10000", "columns a printed value may take; auto: those of the terminal", get_width,
     set_width},
    {"threshold", "a count", "elements above which a tensor is elided",
     get_print<&interp::PrintOptions::threshold>, set_threshold},
    {"edge", "1 to 1000", "items shown at each end of an elided dimension",
     get_print<&interp::PrintOptions::edge_items>, set_edge},
    {"color", "on, off", "colour in results and errors", get_color, set_color},
    {"links", "on, off", "places in files open when they are clicked", get_links, set_links},
    {"numbers", "on, off", "the number of the entry in the prompt", get_numbers, set_numbers},
    {"pager", "on, off", "what is longer than the terminal goes through $PAGER or less", get_pager,
     set_pager},
    {"threads", "1 to 4096", "threads that kernels use", get_threads, set_threads},
    {"device", "cpu, cuda, cuda:1", "where new tensors live", get_device, set_device,
     "a later session may find no such device"},
    {"cache", "off, 1 to 1048576", "MiB of disk for compiled kernels", get_cache, set_cache},
}};

}  // namespace

int parse_whole_number(std::string_view taker, std::string_view text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
    bad_value(taker, fmt::format("a whole number from {} to {}", least, most), text);
  }
  return value;
}

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

const Setting* find_setting(std::string_view key) {
  for (const Setting& setting : kSettings) {
    if (setting.key == key) return &setting;
  }
  return nullptr;
}

std::string help_for_setting(std::string_view key) {
  std::vector<std::string_view> keys;
  for (const Setting& setting : kSettings) keys.push_back(setting.key);
  const std::string_view near = lang::nearest(key, keys);
  return near.empty() ? "`:set` lists the settings" : fmt::format("did you mean `:set {}`?", near);
}

}  // namespace kiln::repl

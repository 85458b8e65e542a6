#include "jit/cuda/ptx_text.h"

#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "jit/passes/target.h"
#include "tensor/cuda/devices.h"
#include "tensor/cuda/program.h"
#include "tensor/cuda/refusal.h"
#include "tensor/error.h"

namespace kiln::jit {
namespace {

constexpr int kWithoutCard = 90;

template <class F>
void each_line(std::string_view text, const F& f) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    f(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::optional<std::size_t> number_at(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

// The program without marks, and which mark each of its lines has.
struct Unmarked {
  std::string text;
  std::vector<std::optional<std::size_t>> marks;  // by line, from 0
};
Unmarked unmarked(std::string_view marked) {
  Unmarked result;
  std::optional<std::size_t> mark;
  each_line(marked, [&](std::string_view line) {
    if (line.starts_with(kMark)) {
      mark = number_at(line.substr(1));
      return;
    }
    result.text += std::string(line) + "\n";
    result.marks.push_back(std::exchange(mark, std::nullopt));
  });
  return result;
}

// The line of the program that a directive `.loc` speaks of: that which what it stands in was called from.
// The program is file 1.
std::optional<std::size_t> line_of(std::string_view loc) {
  constexpr std::string_view kCaller = "inlined_at 1 ";
  const std::size_t caller = loc.find(kCaller);
  if (caller != std::string_view::npos) return number_at(loc.substr(caller + kCaller.size()));
  constexpr std::string_view kOwn = ".loc\t1 ";
  const std::size_t own = loc.find(kOwn);
  return own == std::string_view::npos ? std::nullopt : number_at(loc.substr(own + kOwn.size()));
}

// Sections that tell debuggers what the marks tell people.
bool is_for_debuggers(std::string_view line) {
  return line.starts_with(".section") || line.starts_with("\t.section");
}

// The constant that a line defines: "x" of ".global .align 4 .u32 x = 23;"; empty where it defines none.
std::string_view constant_of(std::string_view line) {
  if (!line.starts_with(".global ")) return {};
  const std::size_t end = std::min({line.find(" ="), line.find(';'), line.find('[')});
  const std::string_view head = line.substr(0, end);
  return head.substr(head.rfind(' ') + 1);
}

std::size_t count_of(std::string_view text, std::string_view word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

// Constants of headers that no instruction reads.
bool is_unread_constant(std::string_view line, std::string_view ptx) {
  const std::string_view name = constant_of(line);
  return !name.empty() && count_of(ptx, name) == 1;
}

}  // namespace

std::string marked_ptx(const std::string& marked_text) {
  if (const auto refusal = cuda::refusal_of(cuda::nvrtc()))
    throw OpError(ErrorKind::Device, "there is no PTX to show: " + refusal->sentence, {}, refusal->way_out);
  const std::vector<cuda::Card>& cards = cuda::driver().cards;
  const Unmarked program = unmarked(marked_text);
  const std::string ptx = cuda::ptx_of(program.text, cards.empty() ? kWithoutCard : cards.front().capability);
  std::string result;
  std::optional<std::size_t> shown;
  bool skips = false;
  each_line(ptx, [&](std::string_view line) {
    if (is_for_debuggers(line)) skips = true;
    if (skips) {
      skips = line != "\t}" && line != "}";
      return;
    }
    if (is_unread_constant(line, ptx)) return;
    if (line.find(".loc\t") == std::string_view::npos) {
      result += std::string(line) + "\n";
      return;
    }
    const std::optional<std::size_t> place = line_of(line);
    if (!place || *place == 0 || *place > program.marks.size()) return;
    const std::optional<std::size_t> mark = program.marks[*place - 1];
    if (mark && mark != shown) result += fmt::format("{}{}\n", kMark, *mark);
    if (mark) shown = mark;
  });
  return result;
}

}  // namespace kiln::jit

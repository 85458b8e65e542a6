// The command that walks through the graphs of a call.
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "repl/command.h"
#include "repl/walk.h"
#include "repl/written_call.h"

namespace kiln::repl {
namespace {

void show(Session& session, std::string_view again) {
  session.write(session.walk()->view(session));
  session.on_enter(":step " + std::string(again));
}

void begin(Session& session, std::string_view text) {
  const WrittenCall call = written_call(session, "step", text);
  auto walk = std::make_unique<Walk>(
      interp::host::captured_call(session.interpreter(), call.function, call.positional, call.named));
  if (walk->size() == 0) return session.write("the call runs no op that is captured\n");
  session.walk() = std::move(walk);
  show(session, "n");
}

// Where a word leads to from here; nothing: it is no direction.
enum class Way { None, Next, Back, Quit };
Way way_of(std::string_view word) {
  if (word.empty() || word == "n" || word == "next") return Way::Next;
  if (word == "b" || word == "back") return Way::Back;
  if (word == "q" || word == "quit") return Way::Quit;
  return Way::None;
}

std::optional<std::size_t> number_in(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

void step(Session& session, std::string_view text) {
  const Way way = way_of(text);
  const std::optional<std::size_t> number = number_in(text);
  if (way == Way::None && !number) return begin(session, text);
  if (session.walk() == nullptr) usage_error(*find_command("step"), "give a call to walk through");
  if (way == Way::Quit) return session.walk().reset();
  Walk& walk = *session.walk();
  if (number) {
    if (*number == 0 || !walk.go_to(*number - 1))
      command_error("ValueError", fmt::format("the nodes are 1 to {}", walk.size()));
  } else if (!walk.go_to(way == Way::Next ? walk.at() + 1 : walk.at() - 1)) {
    return session.write(way == Way::Next ? "that was the last node\n" : "that was the first node\n");
  }
  show(session, way == Way::Back ? "b" : "n");
}

constexpr std::array<Command, 1> kCommands{{
    {"step", "f(x) | n | b | 3 | q", "Compiling", "walk through a call node by node, with live values",
     "The first node is shown with its line in the program and what it gives; `:step n` shows the next one,\n"
     "`:step b` the one before, `:step 3` the third, and Enter goes on in the same direction. `:step q` lets "
     "go\n"
     "of the values. Where an argument requires a gradient, the walk goes on through the backward graph, "
     "for\n"
     "gradients of ones.\n\n"
     "kiln> :step ((x) => x.exp() + 1)(zeros(2))\nkiln> :step n\nkiln> :step b\nkiln> :step q\n",
     step},
}};

}  // namespace

std::span<const Command> walking_commands() { return kCommands; }

}  // namespace kiln::repl

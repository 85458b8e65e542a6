// Commands that walk through the graphs of a call: step nan.
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "interpreter/values/objects.h"
#include "repl/command.h"
#include "repl/not_finite.h"
#include "repl/walk.h"
#include "repl/written_call.h"

namespace kiln::repl {
namespace {

void show(Session& session, std::string_view again) {
  session.write(session.walk()->view(session));
  session.on_enter(":step " + std::string(again));
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

Walk& walk_of(Session& session) {
  if (session.walk() == nullptr) usage_error(*find_command("step"), "give a call to walk through");
  return *session.walk();
}

void go_to(Walk& walk, std::size_t number) {
  if (number == 0 || !walk.go_to(number - 1))
    command_error("ValueError", fmt::format("the nodes are 1 to {}", walk.size()));
}

// A node by number, value, op or line; from `from` on, and else the walk stays.
void go_until(Walk& walk, std::string_view target, std::size_t from) {
  if (target.empty()) usage_error(*find_command("step"), "say until which node");
  if (const std::optional<std::size_t> number = number_in(target)) return go_to(walk, *number);
  const std::optional<std::size_t> found = walk.find(target, from);
  if (!found)
    command_error("ValueError", fmt::format("no node from here on is, or gives, `{}`", target),
                  "a value as %y, an op as matmul, a line as :12 or demo.kiln:12, or a number");
  walk.go_to(*found);
}

// "f(x) until %y": the call, and the target behind its last `until`; the target is empty where the text says
// no `until`.
std::pair<std::string_view, std::string_view> split_until(std::string_view text) {
  constexpr std::string_view kUntil = " until ";
  const std::size_t at = text.rfind(kUntil);
  if (at == std::string_view::npos) return {text, {}};
  return {trim(text.substr(0, at)), trim(text.substr(at + kUntil.size()))};
}

std::unique_ptr<Walk> walk_through(Session& session, std::string_view command, std::string_view text) {
  const WrittenCall call = written_call(session, command, text);
  return std::make_unique<Walk>(
      interp::host::captured_call(session.interpreter(), call.function, call.positional, call.named));
}

void begin(Session& session, std::string_view text) {
  const auto [call, target] = split_until(text);
  std::unique_ptr<Walk> walk = walk_through(session, "step", call);
  if (walk->size() == 0) return session.write("the call runs no op that is captured\n");
  if (!target.empty()) go_until(*walk, target, 0);
  session.walk() = std::move(walk);
  show(session, "n");
}

void show_value(Session& session, std::string_view name) {
  const Tensor* const value = walk_of(session).value(name);
  if (value == nullptr)
    command_error("NameError", fmt::format("there is no value `{}` up to here", name),
                  "`:functional f(x)` shows their names");
  session.write(shown(session.interpreter(), interp::Value(*value)));
}

// "%y = e": the value of the node is e from here on.
void change_value(Session& session, std::string_view name, std::string_view expression) {
  Walk& walk = walk_of(session);
  const interp::Value given = session.run(expression).value;
  if (!given.is(interp::Tag::Tensor))
    command_error("TypeError", fmt::format("`{}` is a tensor, {} was given", name, interp::describe(given)));
  walk.change(name, given.tensor());
  show(session, "n");
}

void step(Session& session, std::string_view text) {
  if (text.starts_with('%')) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) return show_value(session, text);
    return change_value(session, trim(text.substr(0, equals)), trim(text.substr(equals + 1)));
  }
  constexpr std::string_view kUntil = "until ";
  if (text.starts_with(kUntil)) {
    Walk& walk = walk_of(session);
    go_until(walk, trim(text.substr(kUntil.size())), walk.at() + 1);
    return show(session, "n");
  }
  const Way way = way_of(text);
  const std::optional<std::size_t> number = number_in(text);
  if (way == Way::None && !number) return begin(session, text);
  Walk& walk = walk_of(session);
  if (way == Way::Quit) return session.walk().reset();
  if (number) {
    go_to(walk, *number);
  } else if (!walk.go_to(way == Way::Next ? walk.at() + 1 : walk.at() - 1)) {
    return session.write(way == Way::Next ? "that was the last node\n" : "that was the first node\n");
  }
  show(session, way == Way::Back ? "b" : "n");
}

void nan(Session& session, std::string_view text) {
  const std::unique_ptr<Walk> walk = walk_through(session, "nan", text);
  session.write(not_finite_text(session, *walk));
}

constexpr std::array<Command, 2> kWalkingCommands{{
    {"step", "f(x) [until node] | n | b | 3 | until node | %y | %y = e | q", "Compiling",
     "walk through a call node by node, with live values",
     "The first node is shown with its line in the program and what it gives; `:step n` shows the next one,\n"
     "`:step b` the one before, `:step 3` the third, and Enter goes on in the same direction. `:step q` lets "
     "go\n"
     "of the values. Where an argument requires a gradient, the walk goes on through the backward graph, "
     "for\n"
     "gradients of ones. `until` goes to the next node that gives a value (%y), is an op (matmul), or is of "
     "a "
     "line\n"
     "(:12, demo.kiln:12). `:step %y` shows a value by its name, also an argument; `:step %y = e` puts "
     "another "
     "in\n"
     "its place, for all nodes behind it.\n\n"
     "kiln> :step ((x) => x.exp() + 1)(zeros(2))\nkiln> :step n\nkiln> :step b\nkiln> :step %x\n"
     "kiln> :step %0 = ones(2) * 5\nkiln> :step until add\nkiln> :step q\n",
     step, no_function("it answers to Enter; `graph(f, x).nodes` has the nodes")},
    {"nan", "f(x)", "Compiling", "the first node of a call that makes a nan or an inf",
     "The graphs run op by op, forward and, where an argument requires a gradient, backward for gradients "
     "of\n"
     "ones. Of the first node that makes a nan of operands without one, and the first that makes an inf, the "
     "line,\n"
     "the operands and the elements at that place are shown.\n\n"
     "kiln> :nan (x => (x.log() * 2).sum())(tensor([1.0, -1.0]))\n",
     nan, in_programs("find_nan(f, x)")},
}};

}  // namespace

std::span<const Command> walking_commands() { return kWalkingCommands; }

}  // namespace kiln::repl

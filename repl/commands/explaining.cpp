// The command that tells what an error means: explain.
#include <array>

#include "repl/command.h"
#include "repl/explain.h"

namespace kiln::repl {
namespace {

// Without a code that of the last error; where there was none, all of them.
void explain(Session& session, std::string_view argument) {
  const auto& last = session.last_error();
  const std::string_view code = argument.empty() && last ? last->code() : argument;
  session.write(explanation(code, session.color()));
}

constexpr std::array<Command, 1> kExplainingCommands{{
    {"explain", "[code or kind]", "Asking", "what an error means, with a wrong and a right example",
     "Each kind of mistake has a code that stays. At a terminal it stands behind the message; `err.code` has "
     "it\n"
     "in a `catch`, and `kiln explain K0501` tells the same outside of the prompt. Without a code it is "
     "about\n"
     "the last error.\n\n"
     "kiln> :explain K0501\nkiln> :explain ShapeError\n",
     explain, in_programs("explain(\"K0501\")")},
}};

}  // namespace

std::span<const Command> explaining_commands() { return kExplainingCommands; }

}  // namespace kiln::repl

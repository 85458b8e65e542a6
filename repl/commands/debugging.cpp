// The command that looks into the calls of the last error: debug.
#include <array>

#include "interpreter/vm/impl.h"
#include "repl/command.h"
#include "repl/debugger.h"

namespace kiln::repl {
namespace {

void debug(Session& session, std::string_view text) {
  if (session.debugger() == nullptr)
    command_error("ValueError", "there is no error whose calls were kept",
                  "`breakpoint()` in a program stops there");
  if (text == "q" || text == "quit") return session.debugger().reset();
  session.debugger()->take(session, text);
}

constexpr std::array<Command, 1> kDebuggingCommands{{
    {"debug", "[up | down | 2 | e | q]", "Running", "look into the calls of the last error",
     "The calls with their lines, the innermost first, and the variables of the one marked with *. `up` and\n"
     "`down` go to another one, and anything else runs there: its variables can be read, what it assigns is\n"
     "its own. The values are kept until the next error; `q` lets go of them. `breakpoint()` in a program\n"
     "stops it there, for the same.\n\n"
     "  :debug          the calls\n  :debug y.sum()  in the innermost\n  :debug up\n  :debug q\n",
     debug, no_function("`breakpoint()` stops a program for it, and an error that is caught has its `trace`"),
     "up down q"},
}};

}  // namespace

std::span<const Command> debugging_commands() { return kDebuggingCommands; }

}  // namespace kiln::repl

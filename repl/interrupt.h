// Owns what Ctrl-C does while a program runs: the wish to stop, and a word to an impatient user.
#pragma once

namespace kiln::repl {

enum class SecondInterrupt {
  Tell,   // a second Ctrl-C within a second, unanswered, says that the program has not stopped yet
  Leave,  // … ends the process: nothing is lost in a script
};

// From now on SIGINT asks the running program to stop. Blocking reads are not restarted.
void watch_interrupts(SecondInterrupt second);

}  // namespace kiln::repl

// Owns when Ctrl-C reaches a notebook's program: only while a cell runs.
#pragma once

namespace kiln::notebook {

// To be called before any thread starts: SIGINT is kept from all of them, so that it ends nothing that waits
// for messages, and does in a cell what it does at the prompt.
void hold_interrupts();

// While one lives, SIGINT stops what runs on this thread. One that came before is forgotten: it was not meant
// for this cell.
class InterruptsInCell {
 public:
  InterruptsInCell();
  ~InterruptsInCell();
  InterruptsInCell(const InterruptsInCell&) = delete;
  InterruptsInCell& operator=(const InterruptsInCell&) = delete;
};

}  // namespace kiln::notebook

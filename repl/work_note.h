// Owns the grey note "running 3 s" that appears when an entry is silent for a second on a terminal.
#pragma once

#include <memory>

#include "repl/session.h"

namespace kiln::repl {

// What is going on, for the note: "running", "compiling f… 3/7 kernels". May be called from any thread; the
// text must live on.
void set_phase(const char* phase);

// No note for the rest of this entry: something else takes the terminal.
void hush_work_note();

// Watches one entry. The note goes as soon as the entry prints anything or ends, and comes only once.
class WorkNote {
 public:
  explicit WorkNote(Session& session);
  ~WorkNote();
  WorkNote(const WorkNote&) = delete;
  WorkNote& operator=(const WorkNote&) = delete;
  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace kiln::repl

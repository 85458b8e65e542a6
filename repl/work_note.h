// Owns the grey note "compiling f… 3/7 kernels, 4 s, Ctrl-C stops" that appears when an entry is silent for a
// second on a terminal.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "repl/session.h"
#include "tensor/timeline.h"

namespace kiln::repl {

// What an entry is at, by the phases under way, outermost first: "running", "capturing f".
std::string phase_text(std::span<const timeline::Phase> phases);

// No note for the rest of this entry: something else takes the terminal.
void hush_work_note();

// Watches one entry, on the thread that runs it. The note goes without a trace as soon as the entry prints
// anything or ends, and comes only once. It is written to standard error, if that is a terminal.
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

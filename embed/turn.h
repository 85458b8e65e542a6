// Owns the order of calls: values of the language are not made for several threads, so one call at a time
// runs.
#pragma once

#include <optional>

#include "embed/handles.h"
#include "embed/signal_watch.h"

namespace kiln::embed {

// While one lives, this thread may touch values, and `session`, if any, is the active one. A callback of a
// program may begin another call within the one that runs it.
class Turn {
 public:
  explicit Turn(kiln_session* session = nullptr);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  kiln_session* session_;
  kiln_session* before_;  // the active one
  std::optional<SignalWatch> watch_;
};

// Ends a value now, or where another thread runs, at the end of its turn: nothing waits for a program here.
void free_value(kiln_value* value);
void free_session(kiln_session* session);
// A new one, within a turn.
void begin_session(kiln_session* session);

}  // namespace kiln::embed

// Owns what was compiled of a function: its places, the entries at each, and what became of calls.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/capture/entry.h"
#include "interpreter/capture/stages.h"
#include "interpreter/capture/tracer.h"

namespace kiln::interp::capture {

// The backend of calls that are only looked at: it refuses no graph.
inline constexpr std::string_view kAsCaptured = "captured";

struct CompileOptions {
  std::string backend = "fused";
  Value own_backend;  // or a function of the user's: graph => callable
  std::optional<bool> dynamic;
  bool fullgraph = false;
  double memory_budget = 1;  // the part of what is kept for backward that may be (jit/partition.h)
  bool asked_for = false;    // by the program: it is told when that was in vain
};

// A place: (code, instruction).
struct Place {
  std::vector<std::unique_ptr<Entry>> entries;
  // Where the last capture from here ended, when nothing came of it.
  struct End {
    std::ptrdiff_t depth = 0;  // frames beyond the outermost
    const Code* code = nullptr;
    std::size_t place = 0;
  };
  Varying varying;
  std::optional<End> empty_until;
  int failures = 0;
  bool is_full = false;  // no more entries: new cases run in the interpreter
};

struct Compiled {
  CompileOptions options;
  std::map<std::pair<const Code*, std::size_t>, Place> places;
  std::vector<const Entry*> in_order;  // as they were made
  std::int64_t calls = 0;
  std::int64_t compiles = 0;
  std::int64_t hits = 0;
  std::vector<Stop> breaks;
  std::vector<Recompile> recompiles;
  std::vector<std::string> warnings;  // said once
};

bool is_backend(std::string_view name);

// Entries at one place before it gives up on new cases.
inline constexpr std::size_t kMostEntries = 8;
inline constexpr std::size_t kMostFixed = 64;  // where the program asked for one per size

// Runs the active frame, which stands at its first instruction, to its end: compiled where there is an entry
// or one can be made, else as it is. Its result is in its base[-1].
void drive(Vm& vm, Frame* base, Compiled& compiled);

}  // namespace kiln::interp::capture

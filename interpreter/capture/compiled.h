// Owns what was compiled of a function: its places, the entries at each, and what became of calls.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/capture/entry.h"
#include "interpreter/capture/stages.h"
#include "interpreter/capture/tracer.h"
#include "interpreter/capture/worth.h"

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
  bool may_wait = false;     // with kernels, until they are worth compiling
  bool timed = false;        // what is compiled, and stays so, may depend on how long that takes
  // What was asked for keeps its own options, and counts, in what became hot.
  bool inlines(const CompileOptions& callee) const {
    return asked_for || backend == kAsCaptured || !callee.asked_for;
  }
  void visit_references(ReferenceVisitor& visitor) const { interp::visit_references(own_backend, visitor); }
};

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// A place, (code, instruction), that is marked in the code.
struct Place {
  std::vector<std::unique_ptr<Entry>> entries;
  Varying varying;
  std::int64_t reached = 0;
  // Until it was reached as often the interpreter runs: kernels would take longer to compile. kNever: or to
  // call.
  std::int64_t due = 0;
  int failures = 0;      // captures of which nothing came
  int hollow = 0;        // captures in which no tensor op ran
  bool is_full = false;  // no more entries: new cases run in the interpreter
  // How often it was reached with entries there, and how often one of them did.
  std::int64_t misses = 0, hits = 0;
  std::optional<Trial> trial;  // under way
  // How often an entry held there must have, so that the next trial begins: one may be held in a moment in
  // which the machine does something else.
  std::int64_t tried_at = 0;
  std::string given_up;  // why nothing is compiled there any more; empty: something may be
  // Where a loop's body begins: entries that do several trips at once, tried before the others.
  std::vector<std::unique_ptr<Entry>> several;
  void visit_references(ReferenceVisitor& visitor) const;
};

struct Compiled {
  CompileOptions options;
  bool from_start = false;         // calls begin compiled
  std::vector<std::size_t> loops;  // the first instructions of bodies that do, wherever their function stands
  // Shared, so that a place outlasts a reset within it.
  std::map<std::pair<const Code*, std::size_t>, std::shared_ptr<Place>> places;
  std::vector<const Entry*> in_order;  // as they were made
  std::int64_t calls = 0;
  std::int64_t compiles = 0;
  std::int64_t hits = 0;
  std::vector<Stop> breaks;
  std::vector<Recompile> recompiles;
  std::pair<std::int64_t, std::string> recompiled_for;  // the latest: in which call, and why
  std::vector<std::string> warnings;                    // said once
  bool told_beside = false;  // of a difference that was found beside the interpreter
  void visit_references(ReferenceVisitor& visitor) const;
};

bool is_backend(std::string_view name);

// Ops on small tensors that a place runs before its kernels are compiled: about as long as LLVM takes for
// them, so that hardly a program takes longer than it did.
inline constexpr std::int64_t kWorthKernels = 100'000;
inline constexpr std::int64_t kSmall = 256;  // elements: the interpreter's share is most of an op on fewer
// So few of such ops take the interpreter less time than finding the entry and calling its kernel.
inline constexpr std::size_t kFewOps = 2;

// What became hot by itself is given up where, after so many, most times no entry held: looking for one takes
// time, and so does compiling for cases that never come again.
inline constexpr std::int64_t kTrial = 64;
// Calls that the graph of an entry did not stand for, when these are the most, before it goes.
inline constexpr std::int64_t kMostRefused = 8;

// Entries at one place before it gives up on new cases.
inline constexpr std::size_t kMostEntries = 8;
inline constexpr std::size_t kMostFixed = 64;  // where the program asked for one per size

// At a marked instruction within a region: runs the entry that fits, or captures one.
Next drive(Vm& vm, const Region& region, Compiled& compiled);

}  // namespace kiln::interp::capture

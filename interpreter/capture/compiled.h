// Owns the compiled state of a function: its places, the entries at each, and counts of its calls.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/capture/entry.h"
#include "interpreter/capture/flow/place.h"
#include "interpreter/capture/own_pass.h"
#include "interpreter/capture/stages.h"
#include "interpreter/capture/tracer.h"
#include "interpreter/vm/worth.h"

namespace kiln::interp::capture {

// The backend of calls that are only inspected: it refuses no graph.
inline constexpr std::string_view kAsCaptured = "captured";

// Calls that a function which the program asked to compile runs by its own entries, before hot callers have
// its ops in their graphs.
inline constexpr std::int64_t kSettled = 100;

struct CompileOptions {
  std::string backend = "fused";
  Value own_backend;                // or a function of the user's: graph => callable
  std::vector<OwnPass> own_passes;  // of the user, which edit each graph before it is compiled
  std::optional<bool> dynamic;
  bool fullgraph = false;
  double memory_budget =
      1;  // the part of the values kept for backward that may be kept (jit/autodiff/partition.h)
  bool asked_for = false;  // the program asked for compilation, and is warned when it is in vain
  bool may_wait = false;   // kernels are compiled only when they are worth it
  bool timed = false;      // when something is captured depends on the time that it takes
  bool measured = false;   // what takes longer compiled than in the interpreter is given up
  // Would `callee`, which the program asked to compile, be compiled in the same way within a caller that was
  // not asked for? A break of one with fullgraph is an error, so that must be one of its own.
  bool compiles_like(const CompileOptions& callee) const {
    return backend == callee.backend && own_backend.is_none() && callee.own_backend.is_none() &&
           own_passes.empty() && callee.own_passes.empty() && dynamic == callee.dynamic &&
           memory_budget == callee.memory_budget && !callee.fullgraph;
  }
  void visit_references(ReferenceVisitor& visitor) const {
    interp::visit_references(own_backend, visitor);
    interp::visit_references(own_passes, visitor);
  }
};

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// A place, (code, instruction), that is marked in the code.
struct Place {
  std::vector<std::unique_ptr<Entry>> entries;
  Varying varying;
  std::int64_t reached = 0;
  // The interpreter runs until the place was reached as often, since compiling kernels would take longer.
  // kNever: calling them would, too.
  std::int64_t due = 0;
  int failures = 0;       // captures that gave no entry
  int empty_entries = 0;  // captures in which no tensor op ran
  bool is_full = false;   // no more entries: new cases run in the interpreter
  // How often the place was reached and no entry held, and how often one did.
  std::int64_t misses = 0, hits = 0;
  std::optional<Trial> trial;  // under way
  // The number of hits at which the next trial begins. Trials are repeated, since the machine may do
  // something else during one.
  std::int64_t tried_at = 0;
  std::string given_up;  // why nothing is compiled at the place any more; empty: it still may be
  // Where a loop's body begins: entries of several unrolled iterations, tried before the others.
  std::vector<std::unique_ptr<Entry>> unrolled;
  void visit_references(ReferenceVisitor& visitor) const;
};

struct Compiled {
  CompileOptions options;
  const Code* own = nullptr;       // whose state this is
  bool from_start = false;         // calls begin compiled
  std::vector<std::size_t> loops;  // first instructions of the loop bodies that begin compiled
  // Shared, so that a place outlives a reset that happens while its entry runs.
  std::map<std::pair<const Code*, std::size_t>, std::shared_ptr<Place>> places;
  std::vector<const Entry*> in_order;                       // in the order in which they were made
  std::map<std::size_t, std::shared_ptr<FlowPlace>> flows;  // by the first instruction of the loop's body
  // Of the loops that are nodes of its graphs.
  std::vector<std::pair<std::shared_ptr<const jit::FlowGraph>, std::shared_ptr<jit::RunnableFlow>>> loop_code;
  std::map<std::pair<const Code*, std::size_t>, std::int64_t>
      node_iterations;  // of loops that are nodes, by their place
  std::map<std::pair<const Code*, std::size_t>, int> failed_readings;  // of loops that were to be nodes
  std::int64_t calls = 0;
  std::int64_t compiles = 0;
  std::int64_t hits = 0;
  std::size_t in_vain = 0;  // instructions that captures went through and found no op of a tensor
  // Loops that are no nodes of its graphs, by place, and why, for people.
  std::vector<std::pair<std::string, std::string>> declined_loops;
  std::vector<Stop> breaks;
  std::optional<Stop> too_long;  // where capture ended without a graph, since that grew too long
  std::vector<Recompile> recompiles;
  std::pair<std::int64_t, std::string> recompiled_for;  // the latest: in which call, and why
  std::vector<std::string> warnings;                    // said once
  bool told_beside = false;                             // a difference to the interpreter was reported once
  bool has_joined = false;                              // the graphs of a hot caller
  bool stays_apart = false;                             // it broke there
  // Was it compiled without being asked for?
  bool is_hot() const { return !options.asked_for && options.backend != kAsCaptured; }
  // May a hot caller have its ops within its own graphs, now or later? Otherwise it runs by its own entries.
  bool may_join(const Compiled& caller) const {
    return !stays_apart && (has_joined || breaks.empty()) && caller.options.compiles_like(options);
  }
  // Are the ops of a call of `callee` part of the caller's graphs? Of a function that the program asked to
  // compile they are when it has run by itself for a while: then its counts tell what became of it.
  bool inlines(const Compiled& callee) const {
    if (!is_hot() || !callee.options.asked_for) return true;
    return callee.may_join(*this) && (callee.has_joined || callee.hits >= kSettled);
  }
  void visit_references(ReferenceVisitor& visitor) const;
};

bool is_backend(std::string_view name);

// Ops on small tensors that a place runs before its kernels are compiled. They take about as long as LLVM
// takes to compile, so that hardly a program becomes slower.
inline constexpr std::int64_t kWorthKernels = 100'000;
inline constexpr std::int64_t kSmall = 256;  // elements: the interpreter's share is most of an op on fewer
// So few of such ops take the interpreter less time than finding the entry and calling its kernel.
inline constexpr std::size_t kFewOps = 2;

// A place that became hot by itself is given up where, after so many arrivals, mostly no entry held: looking
// for one takes time, and so does compiling for cases that never come again.
inline constexpr std::int64_t kTrial = 64;
// An entry is dropped after its graph refused so many calls, if these are the majority.
inline constexpr std::int64_t kMostRefused = 8;

// A loop that could not be read in so many captures is read no more.
inline constexpr int kMostFailedReadings = 4;

// Entries at one place before it gives up on new cases.
inline constexpr std::size_t kMostEntries = 8;
inline constexpr std::size_t kMostFixed = 64;  // where the program asked for one per size

// At a marked instruction within a region: runs the entry that fits, or captures one.
Next drive(Vm& vm, const Region& region, Compiled& compiled);

}  // namespace kiln::interp::capture

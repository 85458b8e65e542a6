// Owns when a loop runs as a flow graph: reading it, making code of it, giving it up.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "interpreter/capture/flow/entry.h"
#include "interpreter/capture/flow/pending_flow.h"
#include "interpreter/vm/worth.h"

namespace kiln::interp::capture {

struct CompileOptions;

// The top of a loop that is to run as a flow graph.
struct FlowPlace {
  std::vector<std::unique_ptr<FlowEntry>> entries;
  std::unique_ptr<PendingFlow> pending;  // whose code is made while the interpreter goes on
  std::int64_t expected_trips = 0;       // of a run of the pending one: those that were left when it was read
  bool is_asked_for = false;             // the program asked to compile the loop, which can be no node
  // The same loop within one transform that differentiates; null: it did not run there.
  std::shared_ptr<FlowPlace> in_gradient;
  std::string given_up;       // why the loop runs as a flow no more; empty: it may
  std::string latest_reason;  // why it was not read, or not made to code, the last time
  bool is_around = false;     // the loop is around one that runs as a flow
  bool rests = false;         // its mark is gone until the loop was counted again
  int failures = 0;           // readings that gave no entry
  std::int64_t reached = 0;
  std::int64_t due = 0;          // nothing is read until the place was reached as often
  Clock::time_point refused_at;  // when the clock forbade a reading the last time
  std::int64_t hits = 0, misses = 0;
  std::optional<Trial> trial;  // under way
  std::int64_t tried_at = 0;   // the number of hits at which the next one begins

  // Does the loop run as a flow, or will it soon, and so many iterations at once that an entry which comes to
  // it is better ended there than going on with the loop unrolled?
  bool ends_entries() const;
  // Does a tensor that the latest flow, or the one pending, is given in this frame require gradients? False
  // without a flow: the tensors of a loop that is asked for required no gradients when it was read.
  bool requires_gradients(const Frame& frame) const;
  // Does a flow run where they do, and are recorded?
  bool records() const;
  void visit_references(ReferenceVisitor& visitor) const;
};

// Entries at one place, which differ in the types of what the loop reads.
inline constexpr std::size_t kMostFlows = 8;

// May loops of code that is compiled in this way run as flow graphs?
bool allows_flows(const CompileOptions& options);

// At the first instruction of the body of a loop whose place is not given up: runs the flow that fits, or
// reads one. nullopt: entries or the interpreter go on.
std::optional<Next> follow(Vm& vm, const Loop& loop, FlowPlace& place, const CompileOptions& options);

}  // namespace kiln::interp::capture

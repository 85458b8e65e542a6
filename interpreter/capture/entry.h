// Owns a compiled entry: while its guards hold, it replaces the code from one place to another.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "interpreter/capture/frame_plan.h"
#include "interpreter/capture/guard.h"
#include "interpreter/capture/history_names.h"
#include "interpreter/capture/recorded_views.h"
#include "jit/graph/graph.h"
#include "jit/pipeline/compiled_graph.h"
#include "jit/trace/view_origins.h"
#include "tensor/random.h"
#include "tensor/tape/freed_histories.h"

namespace kiln::interp {
class Vm;
}

namespace kiln::interp::capture {

struct Compiled;

// A change of a host value that is older than the call, made when the graph has run.
struct HostEffect {
  enum class Kind : std::uint8_t {
    Slot,      // of a module: becomes parts[0]
    Cell,      // holds parts[0]
    Field,     // `number` of a struct
    Extra,     // `name` of a struct
    Grad,      // of a tensor, or none
    Append,    // to a list
    Contents,  // a list or dict has these items, and no others
    Call,      // of the native `function` with these arguments: print
  };
  Kind kind = Kind::Slot;
  SourceId target = -1;
  std::int64_t number = 0;
  std::string name;
  Value function;
  std::vector<ValuePlanId> parts;
  std::vector<std::pair<std::string, ValuePlanId>> named;
  void visit_references(ReferenceVisitor& visitor) const { interp::visit_references(function, visitor); }
};

// The state of the frames at the end of an entry.
struct Exit {
  struct Activation {
    ValuePlanId function = -1;  // -1: the frame's own
    std::size_t place = 0;      // of the next instruction, or of the call being made
    std::vector<std::pair<std::uint32_t, ValuePlanId>> registers;
  };
  int depth = 1;         // how many frames, from the innermost out, the entry replaces
  bool returns = false;  // the outermost of them returns `result`
  ValuePlanId result = -1;
  std::vector<Activation> frames;  // outermost first
  // Registers of the first frame that become empty. Its registers that are in no list keep their values.
  std::vector<std::uint32_t> dropped;
  // The last instruction is a comparison that jumps. The entry has computed it, as this tensor of one
  // element; the jump is still to be made.
  ValuePlanId condition = -1;
  bool jumps_when = true;
  std::int32_t jump = 0;
};

using jit::Runner;

// Values that have varied between calls of a place: numbers and sizes of tensors, by the path of their
// source, with their earlier value.
struct Varying {
  std::map<std::string, Value> numbers;
  std::map<std::pair<std::string, int>, Dim> sizes;
  std::map<std::pair<std::string, int>, std::string> names;  // of sizes, in the signature
  // Sizes that the signature gives by expressions, as `2*t` in named sizes; an int where it says what `n` is.
  std::map<std::pair<std::string, int>, Dim> expressions;
  bool all_sizes = false;    // dynamic=true
  bool in_loop = false;      // numbers change with each iteration
  bool fixed_sizes = false;  // symbols were tried, and are not possible
  int iterations = 1;        // of the loop, that one entry is to hold
  void visit_references(ReferenceVisitor& visitor) const {
    for (const auto& [path, number] : numbers) interp::visit_references(number, visitor);
  }
};

struct Entry {
  std::vector<std::pair<const Code*, std::size_t>> frames;  // innermost first: the places where they must be
  std::vector<std::shared_ptr<const Code>> owners;          // of other code that it refers to
  Sources sources;
  std::vector<Guard> guards;
  struct Argument {
    SourceId source = -1;
    ExprId number = -1;  // or a number of the program
  };
  std::vector<Argument> arguments;  // of the graph
  Varying varying;                  // what was known to vary when it was captured
  Exprs exprs;
  jit::Graph captured;  // without guards, which `with_guards` adds
  Runner run;           // empty: nothing is to be computed
  // The callable of the program's backend, which `run` calls.
  std::shared_ptr<const Value> callable;
  jit::ViewOrigins origins;
  RecordedViews views;
  HistoryNames names;  // of results, and of arguments that were written under the tape
  std::string note;    // on how the entry runs; mostly empty
  std::function<std::string()> note_of_calls;  // on the calls so far; may be empty
  // Does the graph run under the tape? Not where results have no histories, or freed ones alone.
  bool taped = true;
  bool differentiated = false;  // derivatives are part of the graph
  tape::FreedHistories histories;
  std::vector<SourceId> leaves;  // that the histories lead to
  FramePlan frame_plan;
  std::vector<HostEffect> effects;
  Exit exit;
  std::string break_reason;  // why it ends where it does; empty at a return
  std::string break_file;
  int break_line = 0;
  // Of inspected calls: the graph's arguments after the call, and before it.
  std::vector<Tensor> recorded, given;
  kiln::Generator generator;        // of random numbers, before the call
  const Code* last_code = nullptr;  // the code of the innermost frame at the end
  bool told = false;                // a difference to the interpreter was reported
  bool steps_over = false;          // the interpreter runs the instruction it ends at
  // The function of the program that is called there, and runs by its own entries so far.
  std::weak_ptr<Compiled> awaits;
  std::vector<std::weak_ptr<Compiled>> inlined;  // such functions whose ops it has, one for each call
  std::vector<int> unrolled;  // of a loop: the iterations of unrolled entries that were tried beside it
  mutable int runs = 0;       // under way: a function of the program that it calls may come here again
  std::int64_t hits = 0;
  std::int64_t misses = 0;      // of an unrolled entry
  std::int64_t refused = 0;     // calls in which guards held, but the graph did not run
  std::function<bool()> ready;  // has `run` been compiled, behind the interpreter? Empty: it has
  std::function<void()> wait;   // waits for `run` before its first call; empty: it is compiled
  std::function<std::size_t()> kernel_bytes;  // of code, so far; empty: there are no kernels
  std::size_t code_bytes() const { return kernel_bytes ? kernel_bytes() : 0; }

  void visit_references(ReferenceVisitor& visitor) const;
  // The graph with its guards in words, for people and backends.
  jit::Graph with_guards() const;
  // Which inputs of the graph require gradients, where gradients are recorded.
  std::vector<bool> wanted_inputs() const;
  // Does the entry begin at the place of `innermost`, with no frame outside of `base`?
  bool begins_at(const Frame* innermost, const Frame* base) const;
  // The first guard that does not hold; null when all do.
  const Guard* failing(SourceValues& found, Numbers& numbers) const;
  // Finds the graph's arguments and the values of its symbols; false when a symbol has no value.
  using Arguments = SmallVector<Tensor, 8>;
  bool gather(SourceValues& found, Numbers& numbers, Arguments& tensors, SymbolValues& symbols) const;
  // Runs the graph, then changes host values and frames. False, with nothing changed, when the graph failed.
  bool apply(Vm& vm, SourceValues& found, Numbers& numbers) const;
};

}  // namespace kiln::interp::capture

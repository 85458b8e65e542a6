// Owns a compiled entry: under its guards it does what the code from one place on did, up to another.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "interpreter/capture/frame_plan.h"
#include "interpreter/capture/guard.h"
#include "interpreter/capture/history_names.h"
#include "jit/compiled_graph.h"
#include "jit/graph.h"
#include "jit/view_origins.h"
#include "tensor/random.h"
#include "tensor/tape/freed_histories.h"

namespace kiln::interp {
class Vm;
}

namespace kiln::interp::capture {

// What is done to host values that were there before, when the graph has run.
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

// Where the frames stand in the end.
struct Exit {
  struct Activation {
    ValuePlanId function = -1;  // -1: the one that is there
    std::size_t place = 0;      // of the instruction that comes next, or of the call being made
    std::vector<std::pair<std::uint32_t, ValuePlanId>> registers;
  };
  int depth = 1;         // how many frames, from the innermost out, the entry replaces
  bool returns = false;  // the outermost of them is left, with `result`
  ValuePlanId result = -1;
  std::vector<Activation> frames;  // outermost first
  // Registers of the first of these that hold nothing any more. Those that are in no list stay as they are.
  std::vector<std::uint32_t> dropped;
  // The last instruction, a comparison that jumps, is done but for the jump: by this tensor of one element.
  ValuePlanId condition = -1;
  bool jumps_when = true;
  std::int32_t jump = 0;
};

using jit::Runner;

// What calls of a place have shown to vary: numbers by the path of their source with what they were, sizes of
// tensors likewise.
struct Varying {
  std::map<std::string, Value> numbers;
  std::map<std::pair<std::string, int>, Dim> sizes;
  std::map<std::pair<std::string, int>, std::string> names;  // of sizes, in the signature
  bool all_sizes = false;                                    // dynamic=true
  bool in_loop = false;                                      // numbers change with each iteration
  bool fixed_sizes = false;                                  // that was tried, and is not possible
  int iterations = 1;                                        // of the loop, that an entry is to hold
  void visit_references(ReferenceVisitor& visitor) const {
    for (const auto& [path, number] : numbers) interp::visit_references(number, visitor);
  }
};

struct Entry {
  std::vector<std::pair<const Code*, std::size_t>> frames;  // innermost first: where they must stand
  std::vector<std::shared_ptr<const Code>> owners;          // of other code that it looks at
  Sources sources;
  std::vector<Guard> guards;
  struct Argument {
    SourceId source = -1;
    ExprId number = -1;  // or a number of the program
  };
  std::vector<Argument> arguments;  // of the graph
  Varying varying;                  // what was known to vary when it was captured
  Exprs exprs;
  jit::Graph captured;  // without guards: `with_guards` says them
  Runner run;           // empty: there is nothing to compute
  // What a backend of the program gave, which `run` calls.
  std::shared_ptr<const Value> callable;
  jit::ViewOrigins origins;
  HistoryNames names;                          // where writes were recorded
  std::string note;                            // what is to be said of how it runs; mostly empty
  std::function<std::string()> note_of_calls;  // and of how calls so far did; may be empty
  // Does the tape look on? Not where no result has a history but what a backward leaves of one.
  bool taped = true;
  bool differentiated = false;  // derivatives are part of the graph
  tape::FreedHistories histories;
  std::vector<SourceId> leaves;  // that these lead to
  FramePlan frame_plan;
  std::vector<HostEffect> effects;
  Exit exit;
  std::string break_reason;  // why it ends where it does; empty at a return
  std::string break_file;
  int break_line = 0;
  // Of calls that are only looked at: the graph's arguments as the call left them, and as it found them.
  std::vector<Tensor> recorded, given;
  Generator generator;              // before it ran
  const Code* last_code = nullptr;  // of the innermost frame in the end
  bool told = false;                // of a difference to the interpreter
  bool steps_over = false;          // the instruction it ends at is the interpreter's
  std::vector<int> unrolled;        // of a loop: entries for so many iterations were asked for beside it
  std::int64_t hits = 0;
  std::int64_t misses = 0;                    // of one for several iterations
  std::int64_t refused = 0;                   // calls under its guards for which its graph does not hold
  std::function<bool()> ready;                // is `run` made, behind the interpreter? Empty: it is
  std::function<void()> wait;                 // for `run`, before its first call; empty: it is there
  std::function<std::size_t()> kernel_bytes;  // of code, so far; empty: there are no kernels
  std::size_t code_bytes() const { return kernel_bytes ? kernel_bytes() : 0; }

  void visit_references(ReferenceVisitor& visitor) const;
  // The graph with its guards in words, for those who look into it.
  jit::Graph with_guards() const;
  // Which inputs of the graph require gradients, where gradients are recorded.
  std::vector<bool> wanted_inputs() const;
  // Does it begin where `innermost` stands, with nothing of it outside of `base`?
  bool begins_at(const Frame* innermost, const Frame* base) const;
  // The first guard that does not hold; null when all do.
  const Guard* failing(SourceValues& found, Numbers& numbers) const;
  // What the graph is given, and what its symbols are; false when a symbol has no value.
  using Arguments = SmallVector<Tensor, 8>;
  bool gather(SourceValues& found, Numbers& numbers, Arguments& tensors, jit::SymbolValues& symbols) const;
  // Does everything; false, with nothing changed, when the graph could not be run to its end.
  bool apply(Vm& vm, SourceValues& found, Numbers& numbers) const;
};

}  // namespace kiln::interp::capture

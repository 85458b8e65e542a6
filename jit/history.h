// Owns what the tape would remember of a program: the same nodes in the same order as eager code leaves
// behind, so that gradients are summed in the same order.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "jit/graph/trace.h"
#include "jit/passes/functionalize.h"

namespace kiln::jit {

// Where a value came from: an output of a tape node.
struct Edge {
  int node = -1;
  int output = 0;
  explicit operator bool() const { return node >= 0; }
  friend bool operator==(const Edge&, const Edge&) = default;
};

// One view on the way from a base.
struct ViewApplication {
  const Op* op = nullptr;
  std::vector<Attr> attrs;
  int output = 0;
};

// Its position is its age: of the nodes that are ready, backward takes the youngest first.
struct TapeNode {
  enum class Kind : std::uint8_t {
    Argument,  // where backward ends
    Op,
    Write,  // through the views `path`, as their base sees it; edges to the base and to what was written
  };
  Kind kind = Kind::Argument;
  std::vector<Edge> edges;  // one per input; empty: a constant
  std::vector<Type> output_types;
  std::vector<ViewApplication> path;
  const Op* op = nullptr;
  std::vector<Attr> attrs;
  std::vector<Type> input_types;
  // In the functional graph. Nothing for the input of a view that the tape takes anew: only its layout can be
  // asked for.
  std::vector<Operand> inputs;
  std::vector<ValueId> outputs;
  // Of views, and of what counts places in a storage: the layout of input 0 in the program, of a write that
  // of the base. A functional graph does not know where in its storage an argument begins.
  std::function<Layout()> source;    // over symbols
  ValueId value = Operand::kAbsent;  // of the functional graph, that it stands for
};

// Which values the rule of an op node reads, for the gradients that are recorded.
Saves saves_of(const TapeNode& node);

// A tensor that leaves the program, and where it came from when the program ends.
struct Result {
  bool is_input = false;  // an input that was written, else an output
  int index = 0;
  friend bool operator==(const Result&, const Result&) = default;
};
struct Tape {
  std::vector<TapeNode> nodes;
  std::vector<Edge> inputs;  // per input of the program; empty where no gradient is wanted
  struct Leaving {
    Result result;
    Edge edge;
    Type type;  // of a tensor that lies in memory row by row
    // Of a view: what the tensor came from that it is a view of, unless that is an input.
    Edge base;
    Type base_type;
  };
  // Outputs, then written inputs, without constants. A tensor that leaves in several places is here once.
  std::vector<Leaving> results;
  std::vector<int> constants;  // inputs that were written and are constants now
};

// A body in the functional graph: its slots as values of that graph.
struct Expansion {
  Fragment fragment;
  std::vector<Operand> slots;
};
// The values of a functional graph that the nodes of a program were given and made, and the bodies that stand
// for some nodes, by their position in the program.
struct Correspondence {
  std::vector<Functionalized::Values> nodes;
  std::map<std::size_t, Expansion> bodies;
};

// Runs the program, captured or functional, as the tape would see it. `wanted`: the inputs whose gradient is
// wanted. Throws OpError (Capture) for an op whose body cannot be seen.
Tape record_tape(const Graph& program, const Graph& functional, const Correspondence& values,
                 const std::vector<bool>& wanted);

}  // namespace kiln::jit

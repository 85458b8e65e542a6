// Owns what the tape remembers of a program, as data: the nodes that the program leaves behind, by age, and
// where its results came from.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

// Where a value came from: an output of a tape node.
struct Edge {
  int node = -1;
  int output = 0;
  explicit operator bool() const { return node >= 0; }
  friend bool operator==(const Edge&, const Edge&) = default;
};

// Its position is its age: of the nodes that are ready, backward takes the youngest first.
struct TapeNode {
  std::string name;         // as `grad_fn` shows it
  const Op* op = nullptr;   // null: an input, or a write through a view
  bool is_input = false;    // where backward ends
  std::vector<Edge> edges;  // one per operand; empty: a constant
  std::vector<Type> output_types;
  // By output: the value of the functional graph that it stands for, or Operand::kAbsent.
  std::vector<ValueId> values;
  bool reads_kept = false;  // does its rule read values that are kept for it?
  // Those that are values of the functional graph, with the histories that the rule reads them with.
  std::vector<std::pair<ValueId, Edge>> kept;

  // The first value that it stands for.
  ValueId value() const;
};

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
    bool follows = false;  // was that written since the view was taken?
  };
  // Outputs, then written inputs, without constants. A tensor that leaves in several places is here once.
  std::vector<Leaving> results;
  std::vector<int> constants;  // inputs that were written and are constants now
};

}  // namespace kiln::jit

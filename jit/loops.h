// Owns the loop nest: what one kernel computes, as loads with index maps, a body of scalar instructions and
// stores over axes. The lowest form that knows nothing of a machine: emitters read it, and it prints.
#pragma once

#include <string>
#include <vector>

#include "jit/graph.h"
#include "tensor/cpu/pointwise_params.h"

namespace kiln::jit {

// One step from the tensor that is in memory to the elements that the loop reads: broadcast to sizes, or a
// view of what the steps before give. Index maps compose as layouts do: strides are known when it runs.
struct IndexStep {
  const Op* view = nullptr;  // null: a broadcast
  Sizes sizes;               // of the broadcast
  std::vector<GraphAttr> attrs;
  int output = 0;  // which of the views of a split
};

struct Load {
  int input = 0;  // among the tensors that the kernel is given
  DType dtype = DType::F32;
  std::vector<IndexStep> steps;
  bool invariant = false;  // one element for the whole nest
};

using Register = int;  // the instruction that computes it, by position

// What is computed for each element; a register holds it as it would lie in memory, so that every instruction
// rounds as the eager op does.
struct Instruction {
  enum class Kind : std::uint8_t {
    Read,  // an element of a load
    Constant,
    Symbol,   // the value of a symbolic size
    Apply,    // the scalar function of an elementwise row
    Convert,  // to another dtype, or none
  };
  Kind kind = Kind::Read;
  DType dtype = DType::F32;
  bool invariant = false;  // the same for all elements: computed once
  int index = -1;          // Read, Symbol: of the load or the number
  std::int64_t bits = 0;   // of the constant, as stored
  const Op* op = nullptr;  // Apply
  Compute compute{};       // Apply: the type of its arithmetic
  Params params{};         // Apply
  int failure = -1;        // Apply: its bit in what the kernel returns
  std::vector<Register> operands;
  int node = -1;  // of the graph it comes from
};

struct Store {
  Register value = -1;
  DType dtype = DType::F32;
};

struct LoopNest {
  std::string name;
  Sizes axes;  // of every store, row-major
  std::vector<Load> loads;
  std::vector<Size> numbers;
  std::vector<Instruction> body;  // in order
  std::vector<Store> stores;
};

// For people: axes, loads with their index maps, the body, stores.
std::string print_loops(const LoopNest& nest);

}  // namespace kiln::jit

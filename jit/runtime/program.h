// Owns the program of an executable: the instructions of a graph with each operand found by its place in a
// table.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/graph/graph.h"
#include "jit/shape_rules.h"

namespace kiln::jit {

class ElementwiseKernel;

// Where a tensor is found during a call.
enum class Table : std::uint8_t {
  Frame,     // results of instructions, until they are read for the last time
  Argument,  // what the caller gave
  Prebuilt,  // the same in every call: absent operands, numbers, constants that nobody gets hold of
  Became,    // after the effects: values that became the caller's tensors, and views of those
};
struct Source {
  Table table = Table::Frame;
  std::uint32_t index = 0;
};

// Part of one of the program's lists.
struct Range {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// What a call of a fused graph does, decided once: instructions in order, then effects on what the caller
// has. It says of each value when it is released and what may be computed over it; whether somebody else
// holds that memory is seen when it runs.
struct Program {
  struct Instruction {
    enum class Kind : std::uint8_t {
      Apply,          // a kernel, a call of a library, a view, a call back into the program
      Write,          // the `_` form
      Copy,           // views, then their elements in memory of their own
      Base,           // the memory that arguments share, flat
      FreshConstant,  // a copy, since somebody may write to it
      FreshNumber,    // likewise
    };
    Kind kind = Kind::Apply;
    const Node* node = nullptr;  // of the graph; null: none
    const Op* op = nullptr;
    std::uint32_t attrs = 0;     // of the op; of a base, its type
    Range operands;              // of Program::operands
    Range results;               // of Program::slots
    Range last_read;             // of Program::slots: values that no later instruction reads
    bool may_overwrite = false;  // the first operand, if nobody else holds its memory
    // Of a kernel in the launch or one that may write over what it reads last: the kernel, and over what.
    const ElementwiseKernel* kernel = nullptr;
    Range over;  // of Program::over
    // Of a kernel that takes one of its operands piece by piece as that is made.
    std::int32_t product = -1;  // of Program::products
    std::uint32_t made = 0;     // which operand
  };

  struct EffectInstruction {
    Effect::Kind kind = Effect::Kind::Write;
    const Effect* effect = nullptr;  // of the graph
    Source target;
    Source value;              // of a write, and of what it is set to
    Range views;               // of Program::views, taken before it
    std::uint32_t became = 0;  // what the target is among Table::Became
    bool may_be_over = false;  // the launch may have written there already: then the value is the target
    const Op* layout = nullptr;
    std::uint32_t attrs = 0;
  };

  // Views of what became the caller's tensors, taken anew when the effects that they are of are done.
  struct ViewInstruction {
    const Op* op = nullptr;
    std::uint32_t attrs = 0;
    std::uint32_t source = 0;           // among Table::Became
    std::vector<std::int32_t> results;  // likewise; -1: that one is an argument by now
  };

  struct Output {
    bool is_number = false;  // made anew for each call
    Source source;
  };

  // What an op is applied with: evaluated once per tuple of symbol values.
  struct Application {
    const Op* op = nullptr;
    std::vector<GraphAttr> attrs;
  };

  // Numbers and absent operands as such; constants beside.
  struct Prebuilt {
    Operand operand;
    Tensor constant;
  };

  std::vector<Instruction> instructions;
  std::vector<Instruction> products;
  std::size_t launch = 0;  // the instructions from this one on are kernels that may run together
  std::vector<std::optional<Source>> over;
  // Where arguments are moved to, which are released after their last read; empty: the caller holds them.
  std::vector<std::uint32_t> taken;
  std::vector<Source> operands;
  std::vector<std::uint32_t> slots;
  std::uint32_t frame_size = 0;
  std::vector<Application> applications;
  std::vector<Type> bases;
  std::vector<Prebuilt> prebuilt;
  std::vector<EffectInstruction> effects;
  std::vector<ViewInstruction> views;
  std::uint32_t became_size = 0;
  std::vector<Output> outputs;
};

inline bool is_view(const Program::Instruction& instruction) { return instruction.node->is_view(); }
// Does it take attributes that are another number for other sizes?
inline bool follows_symbols(const Program& program, const Program::Instruction& instruction) {
  return has_symbols(program.applications[instruction.attrs].attrs);
}

// The program points into the graph. `takes_arguments`: of a graph without effects and bases.
Program make_program(const Graph& graph, bool takes_arguments = false);

}  // namespace kiln::jit

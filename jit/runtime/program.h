// Owns the program of an executable: what a call of a graph does, as instructions over buffers. What may lie
// where is decided here and nowhere else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/graph/graph.h"
#include "jit/shape_rules.h"
#include "tensor/backend.h"

namespace kiln::jit {

class ElementwiseKernel;

// Where a tensor is found during a call.
enum class Table : std::uint8_t {
  Frame,     // by number of the value, from when it is made until it is read for the last time
  Argument,  // what the caller gave
  Prebuilt,  // the same in every call: absent operands, numbers, constants that nobody gets hold of
  Became,    // after the effects: values that became the caller's tensors, and views of those
};
struct Source {
  Table table = Table::Frame;
  std::uint32_t index = 0;
  friend bool operator==(const Source&, const Source&) = default;
};

// Part of one of the program's lists.
struct Range {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool empty() const { return begin == end; }
};

// Decided once: instructions in order, and of every value where it lies, how long, and over what it may be
// computed. Whether somebody else holds that memory is seen when the program runs.
struct Program {
  struct Instruction {
    enum class Kind : std::uint8_t {
      RunKernel,
      CallOp,       // of the table
      CallBack,     // a function of the program
      TakeView,     // an offset and strides over the memory of its operand
      CopyView,     // views, then their elements in memory of their own
      WriteOp,      // of captured graphs: the `_` form, which writes to what is read again
      TakeBase,     // the memory that arguments share, flat
      NewConstant,  // a copy, since somebody may write to it
      NewNumber,    // likewise
      DoEffect,     // of Program::effects
      RetakeView,   // of Program::views
    };
    Kind kind = Kind::CallOp;
    const Node* node = nullptr;  // of the graph; null: none
    const Op* op = nullptr;
    std::uint32_t attrs = 0;  // of the op; of a base, its type; of an effect or view, which one it is
    Range operands;           // of Program::operands
    Range results;            // of Program::values
    Range last_read;          // of Program::values: those that no later instruction reads
    Range over;               // of Program::over, by result; empty: over nothing
    const ElementwiseKernel* kernel =
        nullptr;              // of one that cannot fail and does nothing but compute elements
    bool feeds_next = false;  // a product, of which the kernel after it takes pieces as they are made
    std::uint32_t made = 0;   // of that kernel: which operand is the product
  };

  // Memory that the values lie in which are the value that it is named by, or views of it.
  struct Buffer {
    bool is_ours = false;    // made by the call, or handed over to it
    bool leaves = false;     // somebody may have it when the call is done
    std::uint32_t made = 0;  // the instruction that makes it; 0 of what is there when the call begins
    std::uint32_t dies = 0;  // the last instruction that reads any of it, or makes it where none does
  };

  struct EffectInstruction {
    Effect::Kind kind = Effect::Kind::Write;
    const Effect* effect = nullptr;  // of the graph
    Source target;
    Source value;              // of a write, and of what it is set to
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
    std::vector<Attr> attrs;
  };

  // Numbers and absent operands as such; constants beside.
  struct Prebuilt {
    Operand operand;
    Tensor constant;
  };

  std::span<const Value> graph_values;  // with their types
  std::vector<Instruction> instructions;
  std::size_t launch = 0;          // from this one on: kernels that may run together
  std::size_t finish = 0;          // from this one on: effects, and views taken anew
  std::vector<Buffer> buffers;     // by value of the graph that it is named by; others are not used
  std::vector<ValueId> buffer_of;  // by value of the graph
  std::vector<std::optional<Source>> over;
  // Of one that takes its arguments, which it releases after their last read: what these are in the frame.
  bool takes_arguments = false;
  std::vector<Source> operands;
  std::vector<std::uint32_t> values;  // in the frame: values of the graph by their numbers, then numbers
  std::uint32_t frame_size = 0;
  std::vector<Application> applications;
  std::vector<Type> bases;
  std::vector<Prebuilt> prebuilt;
  std::vector<EffectInstruction> effects;
  std::vector<ViewInstruction> views;
  std::uint32_t became_size = 0;
  std::vector<Output> outputs;
  bool may_be_bound = false;  // may its addresses be filled in (jit/runtime/bound_program.h)?

  const Buffer& buffer(ValueId id) const {
    return buffers[static_cast<std::size_t>(buffer_of[static_cast<std::size_t>(id)])];
  }
  std::span<const Instruction> computing() const { return std::span(instructions).first(finish); }
  std::span<const std::uint32_t> of(Range range) const {
    return std::span(values).subspan(range.begin, range.end - range.begin);
  }
  std::span<const Source> sources(Range range) const {
    return std::span(operands).subspan(range.begin, range.end - range.begin);
  }
};

// Does it take attributes that are another number for other sizes?
inline bool follows_symbols(const Program& program, const Program::Instruction& instruction) {
  return has_symbols(program.applications[instruction.attrs].attrs);
}

// The program points into the graph. `takes_arguments`: of a graph without effects and bases.
Program make_program(const Graph& graph, bool takes_arguments = false);

// What a program is for the values of its symbols.
struct Specialization {
  SymbolValues symbols;
  std::string misfit;                             // why the graph does not hold; empty: it does
  std::vector<const Attrs*> attrs;                // by application
  std::vector<std::unique_ptr<const Attrs>> own;  // of those that follow symbols
  std::vector<Tensor> prebuilt;
  std::vector<Dims> bases;
  std::unique_ptr<RepeatedCall> repeated;  // of programs for a device that does a call's work at one command
};

// How far a run came, for whoever catches what it throws.
struct Progress {
  const Node* node = nullptr;  // the one that runs, or failed; null: none yet, or all are done
  int effects = 0;             // how many effects were carried out
};

}  // namespace kiln::jit

// Owns the bytecode of one function: instructions, what they refer to, and what is known of where they stand.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/values/objects.h"
#include "lang/ast.h"

namespace kiln::interp {

enum class Opcode : std::uint16_t {
#define KILN_FAST(name, operands) name,
#define KILN_CALL(name, operands) name,
#include "interpreter/values/opcodes.def"
};
inline constexpr std::size_t kOpcodes = 0
#define KILN_FAST(name, operands) +1
#define KILN_CALL(name, operands) +1
#include "interpreter/values/opcodes.def"
    ;
std::string_view name(Opcode op);
std::string_view operands(Opcode op);  // letters of opcodes.def

struct Instruction {
  std::uint16_t op;
  std::uint16_t a;
  std::uint16_t b;
  std::uint16_t c;

  Opcode opcode() const { return static_cast<Opcode>(op); }
  std::int16_t b_number() const { return static_cast<std::int16_t>(b); }
  std::int16_t c_number() const { return static_cast<std::int16_t>(c); }
  std::int32_t wide() const { return static_cast<std::int32_t>(b | std::uint32_t{c} << 16); }
};
static_assert(sizeof(Instruction) == 8);

// What an operand of an instruction is in the source, for carets and for "where did this come from".
struct OperandNote {
  std::uint32_t begin, end;
  std::string_view name;  // empty unless the operand is a variable
  enum class Origin : std::uint8_t { None, Parameter, Assigned, Global } origin = Origin::None;
  lang::Span assigned;          // Assigned: the last assignment before this instruction
  std::string_view owner = {};  // Parameter: the function, when it is not the one that runs
  bool is_literal = false;
};
struct InstructionNote {
  std::uint32_t begin = 0, end = 0;
  std::uint32_t first_operand = 0;
  std::uint32_t operands = 0;
};

// An attribute or method looked up by name, with what the last look-up found.
struct Site {
  std::string_view name;
  Value name_value;               // the same as a Str
  std::uint32_t module_slot = 0;  // uniform calls: a variable of the module by this name
  std::int32_t local = -1;        // or a local of the function
  bool local_is_cell = false;
  // The cache
  enum class Kind : std::uint8_t {
    Empty,
    Field,
    StructMethod,
    HostMethod,
    HostField,
    Op,
    Uniform
  } kind = Kind::Empty;
  Tag tag = Tag::None;           // of the receiver
  std::uint32_t struct_id = 0;   // when an instance
  std::uint32_t index = 0;       // Field
  const Value* found = nullptr;  // StructMethod, HostMethod, HostField: kept alive by the type
  const void* op = nullptr;      // Op
};

// How the arguments of a call with names or stars are written; values stand in registers in this order.
struct CallShape {
  struct Item {
    lang::Argument::Kind kind;
    std::string_view name;
    lang::Span name_span;
  };
  std::vector<Item> items;
  std::uint32_t site = 0;  // for method calls
};

struct CodeParameter {
  std::string_view name;
  lang::Parameter::Kind kind = lang::Parameter::Kind::Normal;
  bool has_default = false;
  bool keyword_only = false;
  const lang::Annotation* annotation = nullptr;
};

struct StructCode {
  const lang::StructStmt* statement = nullptr;
  std::vector<bool> has_default;
  std::vector<std::string_view> methods;
  std::vector<std::string_view> init_fields;  // that `init` assigns without a declaration
};

struct PatternCode {
  const lang::Pattern* pattern = nullptr;
  std::vector<Value> keys;  // of a dict
};

struct AutogradCode {
  const lang::AutogradStmt* statement = nullptr;
};

// Where an error in [begin, end) goes on: with the error in `target_register`, all from `live` on released.
// Clean-up handlers (of `with`) also see Exit and Interrupted; inner handlers come first.
struct Handler {
  std::uint32_t begin, end, target;
  std::uint16_t target_register;
  std::uint16_t live;
  bool cleanup;
};

namespace capture {
class Liveness;
struct Compiled;
class Loops;
}  // namespace capture

struct Code {
  std::string name;  // "Linear.init"; "" at top level; "fn" when anonymous
  std::shared_ptr<lang::Ast> ast;
  const lang::FunctionExpr* function = nullptr;
  const lang::SourceFile* file = nullptr;
  mutable std::vector<Instruction> instructions;  // GetGlobal becomes GetPrelude
  std::vector<Value> constants;
  std::vector<std::shared_ptr<Code>> functions;
  std::vector<StructCode> structs;
  std::vector<AutogradCode> autograds;
  std::vector<PatternCode> patterns;
  mutable std::vector<Site> sites;  // they cache
  std::vector<CallShape> shapes;
  std::vector<std::string_view> names;
  std::vector<const lang::ImportStmt*> imports;
  std::vector<Handler> handlers;
  std::vector<CodeParameter> parameters;

  std::uint32_t locals = 0;  // registers from here on are temporaries
  std::uint32_t registers = 0;
  // The number of positional arguments that need no binding; -1 when each call needs it.
  std::int32_t plain_arity = -1;
  bool is_init = false;      // a struct's: its result is the instance
  bool gives_value = false;  // top level: its last statement is an expression to be shown

  std::vector<InstructionNote> notes;  // one for each instruction
  std::vector<OperandNote> operands;

  bool is_whole = false;                                // @uninterrupted: Ctrl-C waits for its end
  bool never_compiled = false;                          // @eager
  mutable std::uint32_t heat = 0;                       // tensor ops that calls of it ran
  mutable std::shared_ptr<capture::Compiled> compiled;  // its entries, and those of loops in it
  mutable std::int64_t trips = 0;                       // of its loops, as far as they were counted
  // What stood where the instruction Capture marks a place of capture; empty while there is none.
  mutable std::vector<Opcode> marked;
  mutable std::shared_ptr<const capture::Liveness> known_liveness;
  mutable std::shared_ptr<const capture::Loops> known_loops;

  lang::Span span(std::size_t pc) const { return {file, notes[pc].begin, notes[pc].end}; }
  // What was compiled of it; constants are texts and numbers.
  void visit_references(ReferenceVisitor& visitor) const;
  bool is_marked(std::size_t pc) const { return instructions[pc].opcode() == Opcode::Capture; }
  Opcode opcode_at(std::size_t pc) const { return is_marked(pc) ? marked[pc] : instructions[pc].opcode(); }
  void set_opcode(std::size_t pc, Opcode op) const;
  void mark(std::size_t pc) const;
  void unmark(std::size_t pc) const;
  // Found when first asked for.
  const capture::Liveness& liveness() const;
  const capture::Loops& loops() const;
};

// One instruction a line: "  3  Add          r2 r0 r1          # x + y".
std::string disassemble(const Code& code, bool nested = true);

}  // namespace kiln::interp

// Owns what a register holds while a loop's bytecode is read: a value with a type in place of its elements.
#pragma once

#include <string>
#include <vector>

#include "interpreter/capture/source.h"
#include "jit/flow/flow_graph.h"

namespace kiln::interp::capture {

// An abstract value: what is known of a register on every way to an instruction.
struct FlowItem {
  enum class Kind : std::uint8_t {
    Known,   // `known`, which was at `source` when the flow began; without a source a constant
    Number,  // `operand`, of the kind `dtype`: bool, i64 or f64
    Letter,  // `operand`, the number of a code point
    Tensor,  // `tensor`, which has no elements
    Tuple,
    List,      // made in the loop, and not yet seen by anything that could change it
    Slice,     // start, stop and step
    Range,     // start, stop and step, too
    Iterator,  // made in the loop, of the form `form`; only one register, or part of another one, holds it
    Struct,    // made in the loop, of the type `known`: its fields
  };
  Kind kind = Kind::Known;
  Value known{};
  SourceId source = -1;
  DType dtype = DType::I64;
  jit::Operand operand{};
  Tensor tensor{};
  std::vector<FlowItem> parts{};
  IteratorForm form{};
  std::int64_t serial = 0;           // of a letter or struct: one and the same wherever it is
  std::vector<std::string> names{};  // of its last parts: fields that are not declared

  static FlowItem constant(Value value);  // a number becomes a Number
  static FlowItem one() { return constant(std::int64_t{1}); }
  static FlowItem dead();  // whatever is there: nothing reads it
  static FlowItem at(Value value, SourceId source);
  static FlowItem number(DType dtype, jit::Operand operand);
  static FlowItem letter(const FlowItem& number);
  static FlowItem of(Tensor tensor);
  static FlowItem group(Kind kind, std::vector<FlowItem> parts);
  static FlowItem iterator(IteratorForm form, std::vector<FlowItem> parts);

  bool is(Kind wanted) const { return kind == wanted; }
  bool is_int() const { return kind == Kind::Number && dtype == DType::I64; }
  bool is_none() const { return kind == Kind::Known && known.is_none(); }
  // A number of the program that is one for all runs of the flow.
  bool is_literal() const;
  std::optional<std::int64_t> literal_int() const;
  Value literal() const;
};

// Is it the same value on both ways, whatever the flow is run with?
bool same_item(const FlowItem& a, const FlowItem& b);
// Calls f(part, part) for all that is no group, in one order; the items have the same signature.
template <class F>
void each_leaf(FlowItem& a, const F& f) {
  if (a.parts.empty()) return f(a);
  for (FlowItem& part : a.parts) each_leaf(part, f);
}
// What must agree where two ways meet: kinds of numbers, dtypes and ranks, and values that are known.
std::string signature_of(const FlowItem& item);
// A value that the program may store, as it is described to people: "an int", "f64[n, n]".
std::string text_of(const FlowItem& item);

}  // namespace kiln::interp::capture

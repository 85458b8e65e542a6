// Owns how sizes of inputs are written in a flow: as symbols, as numbers, or over the symbols of others.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "interpreter/capture/flow/loop_flow.h"
#include "interpreter/capture/flow/notes.h"
#include "tensor/substitute.h"

namespace kiln::interp::capture {

// Sizes that are equal now have one symbol. What readings find to be equal besides is known from the next
// reading on, and guards hold it.
class InputSizes {
 public:
  explicit InputSizes(LoopFlow& flow) : flow_(flow) {}
  // A reading begins.
  void begin();

  struct Size {
    Dim size;
    int symbol = -1;  // in LoopFlow::exprs, which guards ask; -1: a number
  };
  Size size(FlowNotes& notes, std::int64_t now, SourceId tensor, int dim);
  // A number of examples, which is a size of the tensors that have them.
  Dim size(FlowNotes& notes, std::int64_t now) { return size(notes, now, -1, 0).size; }
  // The size as this reading writes it. Nothing where it does not follow from sizes of inputs alone.
  std::optional<Dim> over_inputs(FlowNotes& notes, Dim size);
  ExprId expr_of(Dim size);
  // Two sizes that differ as expressions, and are equal now: from the next reading on, one of their symbols
  // is written over the others, or is a number. False: the sizes follow what changes in the loop, or differ.
  bool make_equal(Dim a, Dim b);

  // An int that the program has at this source is this symbol of the flow.
  void add_number(const std::string& symbol, std::int64_t now, SourceId source);
  // What an int was found to be, as `n` where `n = x.size(0)` comes before the loop; nothing of other ints.
  std::optional<Dim> size_of_number(FlowNotes& notes, SourceId source);
  // That it is so: an expression that is true.
  ExprId is_size(SourceId number, Dim size);

 private:
  // A symbol that stands for the size of an input. Symbols are written over those of smaller sizes.
  struct Unknown {
    std::int64_t now = 0;
    SourceId tensor = -1;
    int dim = 0;
  };
  struct Number {
    std::int64_t now = 0;
    SourceId source = -1;
  };
  Dim written(FlowNotes& notes, const std::string& symbol);
  Dim known_to(FlowNotes& notes, Dim size);
  bool write_number(const std::string& symbol, Dim difference);
  bool write_symbol(const std::string& symbol, Dim difference);
  int symbol_of(const std::string& symbol);
  int add_symbol(Symbol symbol);
  int add_symbol(std::string name, Dim size);
  ExprId add_expr(Expr expr);

  LoopFlow& flow_;
  std::map<std::string, Unknown> unknowns_;
  std::map<std::int64_t, std::string> names_;  // of sizes, by what they are now
  SymbolSizes written_;                        // symbols over others
  std::map<SourceId, Dim> sizes_of_numbers_;
  std::map<std::string, Number> numbers_;  // of this reading, by symbol
  std::map<std::string, int> symbols_;     // of this reading, in LoopFlow::exprs
  std::set<std::string> added_;            // of this reading, to the flow
};

}  // namespace kiln::interp::capture

// Owns what a call of an op by name needs to know: its forms (`max`, `max.dim`), with each parameter's place.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "interpreter/values/value.h"
#include "tensor/op.h"

namespace kiln::interp {

// One row of the op table as a call sees it; the vectors are by parameter.
struct OpForm {
  const kiln::Op* op = nullptr;
  kiln::Attrs defaults;
  std::vector<int> input_index;  // -1: not a tensor
  std::vector<int> attr_index;   // -1: a tensor
  std::vector<bool> is_list;
  std::vector<bool> required;
  bool on_numbers = false;  // given host numbers alone, gives a host number
  // The first parameters, when these are tensors and nothing else is required: a call with so many positional
  // tensors or numbers needs no binding. -1: there is no such call.
  int plain = -1;
};

struct OpEntry {
  std::string name;  // as called: `add_`
  bool inplace = false;
  std::vector<OpForm> forms;
};

// May a parameter be `value`? A `bool[true]` tells the forms of an op apart, and is true.
bool admits(const kiln::Parameter& parameter, bool value);

// One attribute of an op from one argument; false when the value is of another type.
bool read_attr(const kiln::Op& op, const kiln::Parameter& parameter, const Value& v, kiln::Attr& out);

// An elementwise op on host numbers, in f64, i64 or bool: `sin(1.0)` is a float, `floor(2.5)` an int.
Value apply_to_numbers(const OpForm& form, kiln::Inputs inputs, const kiln::Attrs& attrs);

// Every name an op can be called by, sorted.
std::vector<std::string_view> op_names();

}  // namespace kiln::interp

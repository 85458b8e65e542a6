// Owns frame plans: how the values of frames are made again when a compiled entry ends, from sources, results
// of its graph, constants, and containers of these.
#pragma once

#include <vector>

#include "interpreter/capture/expr.h"
#include "tensor/tensor.h"

namespace kiln::interp::capture {

using ValuePlanId = int;

// How one value is made.
struct ValuePlan {
  enum class Kind : std::uint8_t {
    Constant,  // `value`
    Source,    // `number`
    Output,    // `number` of the graph
    Number,    // the expression `number`
    Item,      // the number that output `number` of the graph holds as its only element
    List,
    Tuple,
    Dict,  // keys and values in turn
    Set,   // a dict without values
    Slice,
    Instance,  // of the struct `value`; the parts are declared fields, then the others in the order of
               // `names`
    Function,  // with the code of `value`: the first `number` parts are cells, the others defaults
    Cell,
    Method,  // receiver, function
  };
  Kind kind = Kind::Constant;
  Value value;
  std::int64_t number = 0;
  std::vector<ValuePlanId> parts;
  std::vector<std::string> names;
  void visit_references(ReferenceVisitor& visitor) const { interp::visit_references(value, visitor); }
};

using FramePlan = std::vector<ValuePlan>;  // by ValuePlanId

using Values = SmallVector<Value, 16>;

// Makes all values, in order. A container that is part of several others is one object.
Values make_values(const FramePlan& frame_plan, SourceValues& found, Numbers& numbers, Inputs outputs);

}  // namespace kiln::interp::capture

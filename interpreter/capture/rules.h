// Owns what each instruction and each host function means to capture.
#pragma once

#include <string_view>

#include "interpreter/objects.h"

namespace kiln::interp::capture {

// What a call of a host function does, as far as capture must know.
enum class HostRule : std::uint8_t {
  Breaks,           // cannot be captured
  Reads,            // gives what follows from its arguments, all of which it may read
  ReadsNoSizes,     // likewise, and from no size of a tensor that is not followed as a number
                    // (observe_numbers.cpp)
  Computes,         // likewise, and from numbers alone a number
  ReadsHost,        // likewise, but would read the elements of tensors
  ReadsLayout,      // likewise, of how a tensor lies in memory
  ReadsContiguity,  // likewise, as far as guards tell it
  ReadsOrigin,      // likewise, of whether an op made its argument a view
  ReadsParameter,   // gives whether its argument, a tensor, is a parameter
  TellsApart,       // reads all of its arguments, and which tensors in them are one
  Identifies,       // tells which object its argument is
  Makes,            // gives an object that cannot be made again: an iterator, a scope, a transformed function
  Appends,          // to its receiver, a list
  Changes,          // its receiver, a list or dict
  Differentiates,   // runs backward through what was computed
  Hooks,            // has a function called when a gradient comes to its receiver
  Resizes,          // its receiver, a tensor
  Prints,
};
HostRule rule_of_function(std::string_view name);
HostRule rule_of_type(std::string_view name);  // called as a constructor
HostRule rule_of_method(Tag receiver, std::string_view name);
// Fields and methods of tensors beside ops.
HostRule rule_of_tensor_member(std::string_view name);

}  // namespace kiln::interp::capture

// Owns the rules of capture for host functions: what a call reads, changes and returns.
#pragma once

#include <string_view>

#include "interpreter/values/objects.h"

namespace kiln::interp::capture {

// The effect of a call of a host function, as far as capture must know it.
enum class HostRule : std::uint8_t {
  Breaks,           // cannot be captured
  Reads,            // its result follows from its arguments, all of which it may read
  Computes,         // as Reads, and its result is a number if its arguments are numbers
  ReadsHost,        // as Reads, but it would read the elements of tensors, too
  ReadsLayout,      // as Reads, and it reads the layout of a tensor in memory
  ReadsContiguity,  // as Reads, and it reads the kind of a tensor's strides, which guards check
  ReadsOrigin,      // as Reads, and it reads whether its argument is a view
  ReadsParameter,   // tells whether its argument, a tensor, is a parameter
  ReadsRanks,       // as Reads, and its result also follows from which ranks there are
  ReadsPlace,       // its result is the line of the program that it is called for
  TellsApart,       // reads all of its arguments, and which tensors in them are one
  Identifies,       // tells which object its argument is
  Makes,    // makes an object that no exit can make again: an iterator, a scope, a transformed function
  Appends,  // to its receiver, a list
  Changes,  // its receiver, a list or dict
  Differentiates,  // runs backward
  Hooks,           // has a function called when a gradient comes to its receiver
  Resizes,         // its receiver, a tensor
  Attributes,      // reads, asks for or sets a field by its name
  Prints,
};
HostRule rule_of_function(std::string_view name);
HostRule rule_of_type(std::string_view name);  // called as a constructor
HostRule rule_of_method(Tag receiver, std::string_view name);
// Fields and methods of tensors beside ops.
HostRule rule_of_tensor_member(std::string_view name);

}  // namespace kiln::interp::capture

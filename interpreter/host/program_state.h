// Owns taking back what a call changed of the program.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "interpreter/capture/stages.h"
#include "interpreter/values/value.h"
#include "tensor/random.h"

namespace kiln::interp::host {

// What the program holds when this is made, as far as it is reached from some values: variables, fields of
// structs, items of lists and dicts, gradients, and where the generator of random numbers is. Elements of
// tensors are not among them, since a captured call has those it wrote.
class ProgramState {
 public:
  explicit ProgramState(std::span<const Value> reached_from);
  // Puts all of it back, and the elements that a captured call wrote to its arguments. What was read of files
  // and iterators, and sizes and memory that a tensor was given in place, stay as they are.
  void restore(std::span<const CapturedGraph> parts) const;

 private:
  std::vector<std::function<void()>> restore_;
  kiln::Generator generator_;
};

}  // namespace kiln::interp::host

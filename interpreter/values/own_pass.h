// Owns the form of a pass written by the program.
#pragma once

#include <string>

#include "interpreter/values/references.h"
#include "interpreter/values/value.h"

namespace kiln::interp {

// A function that is given a graph and gives it edited (interpreter/capture/own_pass.h runs it).
struct OwnPass {
  std::string name;
  Value run;
  void visit_references(ReferenceVisitor& visitor) const { interp::visit_references(run, visitor); }
};

}  // namespace kiln::interp

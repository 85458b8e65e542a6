// Owns the curve below a progress bar: numbers of a list that grows while the bar is drawn anew.
#pragma once

#include <string>
#include <vector>

#include "interpreter/values/objects.h"

namespace kiln::interp::host {

class LiveCurve {
 public:
  // Of a list, or of nothing for none; TypeError for other values.
  explicit LiveCurve(Value numbers);
  // The lines of the curve; none before there are two numbers. TypeError when something else than numbers is
  // in the list.
  std::vector<std::string> lines(Interpreter& interpreter, int width) const;
  void visit_references(ReferenceVisitor& visitor) const {
    kiln::interp::visit_references(numbers_, visitor);
  }

 private:
  Value numbers_;
};

}  // namespace kiln::interp::host

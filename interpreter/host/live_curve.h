// Owns the curve below a progress bar: numbers of a list that grows while the bar is drawn anew.
#pragma once

#include <string>

#include "interpreter/values/objects.h"

namespace kiln::interp::host {

class LiveCurve {
 public:
  // Of a list, or of nothing for none; TypeError for other values.
  explicit LiveCurve(Value numbers);
  // What draws the curve below the line of the cursor and brings it back there; empty before there are two
  // numbers. TypeError when something else than numbers is in the list.
  std::string drawn_below(Interpreter& interpreter, int width);
  // What goes to the last line of what was drawn.
  std::string to_the_end() const;
  void visit_references(ReferenceVisitor& visitor) const {
    kiln::interp::visit_references(numbers_, visitor);
  }

 private:
  Value numbers_;
  int rows_ = 0;  // drawn last
};

}  // namespace kiln::interp::host

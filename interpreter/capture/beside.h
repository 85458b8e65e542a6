// Owns running what is compiled beside the interpreter, from one state of the program to another: a process
// of its own goes through a region by its entries, this one as it does in check mode, where the interpreter's
// results count, and what both hold then is compared.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "interpreter/vm.h"

namespace kiln::interp::capture {

// A region that is under way: a function that began compiled, or a loop. The processes are copies of each
// other, so all host data, effects, random numbers, histories and errors are compared, and not only what a
// graph gives.
class Beside {
 public:
  // Is one under way, in this process or in the shadow?
  static bool under_way();

  // Goes on from where the machine stands, in `region`, until it is left. `compiled`: what the shadow does
  // first, an entry; `checked`: what this process does. `tell` is called with the first difference, if there
  // is one. Throws what the program throws.
  using Step = std::function<Next()>;
  static Next run(Vm& vm, const Region& region, const Step& compiled, const Step& checked,
                  const std::function<void(const std::string& difference)>& tell);
};

}  // namespace kiln::interp::capture

// Owns running compiled code beside the interpreter, from one state of the program to another. A second
// process, the shadow, goes through a region by its entries. This process does as in check mode, where the
// interpreter's results count. Then the states of both are compared.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "interpreter/vm/vm.h"

namespace kiln::interp::capture {

// A region under way: a function that began compiled, or a loop. The processes are copies of each other, so
// all host data, effects, random numbers, histories and errors are compared, and not only the results of a
// graph.
class Beside {
 public:
  // Is such a comparison under way, in this process or in the shadow?
  static bool under_way();
  // Does this process go through the region in the interpreter alone, so that it ends where the shadow does?
  // An entry of what surrounds a loop may go on behind it.
  static bool interprets();
  // In the copy of a region that is a loop whose flow is compared: do no entries run, one of which could go
  // on behind the loop?
  static bool runs_flows_alone();

  // Runs from the machine's place in `region` until the region is left. The shadow first calls `compiled`,
  // which runs an entry; this process calls `checked`, and runs no entry at all where it is `interpreted`.
  // Calls `tell` with the first difference, if there is one. Throws what the program throws.
  using Step = std::function<Next()>;
  static Next run(Vm& vm, const Region& region, const Step& compiled, const Step& checked,
                  const std::function<void(const std::string& difference)>& tell, bool interpreted = false);
};

}  // namespace kiln::interp::capture

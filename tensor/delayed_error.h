// Owns errors that are told after their op: devices compute beside the program, which is further on by then.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "tensor/error.h"

namespace kiln {

// Where the program was, as what runs it keeps it.
using ProgramPlace = std::shared_ptr<const void>;
struct KeptPlace {
  ProgramPlace place;       // null where no program runs
  bool is_awaited = false;  // the program goes on only when it is known that nothing failed here
};
// `source` is asked on whichever thread gives work to a device. An empty one ends that.
void set_place_source(std::function<KeptPlace()> source);
KeptPlace current_place();

// The error of an op at an earlier place.
class DelayedError final : public OpError {
 public:
  DelayedError(const OpError& error, ProgramPlace place) : OpError(error), place_(std::move(place)) {}
  const ProgramPlace& place() const { return place_; }

 private:
  ProgramPlace place_;
};

// Waits until devices have done what may fail yet, and throws what did: where a program must not go on before
// it is known, as at the end of a `try`. Costs nothing where there is no such work.
void settle_devices();
// How one kind of device settles, and whether it has anything to.
struct Settling {
  bool (*is_wanted)();
  void (*settle)();
};
void add_settling(Settling settling);

}  // namespace kiln

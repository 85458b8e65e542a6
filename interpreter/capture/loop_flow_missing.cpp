// Stands in until loops are read.
#include "interpreter/capture/loop_flow.h"

namespace kiln::interp::capture {

[[gnu::weak]] LoopReading read_loop(Vm&, const Loop&) { return {nullptr, "no loops are read yet", {}}; }
[[gnu::weak]] void LoopFlow::visit_references(ReferenceVisitor&) const {}

}  // namespace kiln::interp::capture

// Owns when the gradients of views are added to those of what they show, as the tape does it: where the view
// was made, or, when what it shows was written since, where it was first read after the write.
#pragma once

#include <vector>

#include "jit/flow/flow_activity.h"

namespace kiln::jit {

class FlowViews {
 public:
  FlowViews(const FlowGraph& flow, const FlowActivity& activity);

  // The views that the step reads first since their root was written, in the order of its operands.
  const std::vector<ValueId>& renewed_by(std::size_t block, std::size_t step) const {
    return renewed_[block][step];
  }

 private:
  std::vector<std::vector<std::vector<ValueId>>> renewed_;  // by block and step
};

}  // namespace kiln::jit

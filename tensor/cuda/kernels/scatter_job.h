// Owns what kernels are given that put elements where indices say. For the host and for cards: no standard
// headers.
#pragma once

#include "tensor/cuda/kernels/axes.h"
#include "tensor/ops/put.h"

namespace kiln::cuda {

struct ScatterJob {
  Count count;         // of targets
  Count columns;       // elements that go to each
  Axes<2> axes;        // along the columns: of the result and of the source
  Count step;          // of the source, from the elements for one target to those for the next
  Count target_bytes;  // what targets count
  const Count* targets;
  const Count*
      order;  // of the targets: equal ones are neighbours, as they came; null where it does not matter
  const void* source;
  void* result;
  const unsigned* unless;  // null, or a word on the card: set, nothing is done
};

}  // namespace kiln::cuda

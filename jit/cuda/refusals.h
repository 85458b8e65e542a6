// Owns what kernels tell of elements that an op refuses.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "jit/loops/loops.h"
#include "tensor/error.h"
#include "tensor/op.h"

namespace kiln::jit {

// An instruction that may refuse an element: the sentence of an elementwise op, or the load whose indices are
// looked at.
struct Refusal {
  std::string message;
  const Op* gather = nullptr;
  Attrs attrs;
  std::size_t load = 0;
};
using Refusals = std::vector<Refusal>;

// In the order in which kernels number them (jit/cuda/nest_words.h).
std::shared_ptr<const Refusals> refusals_of(const LoopNest& nest);

// The error, for which the host waits. `gathers`: the operands of gather loads, by load.
OpError refused(const Refusal& refusal, const std::map<std::size_t, Tensors>& gathers);

}  // namespace kiln::jit

// Owns what it takes to run the forward and backward graphs of a captured call by themselves.
#pragma once

#include <span>
#include <vector>

#include "interpreter/capture/stages.h"
#include "jit/autodiff/partition.h"

namespace kiln::interp::host {

// The forward graph that also gives what it saves, behind its results.
jit::Graph with_saved(jit::Graph forward);

// What the backward graph is given for gradients of ones. `arguments` are the forward graph's, `made` what
// `with_saved` gave for them.
std::vector<Tensor> backward_arguments(const jit::Partition& pair, Inputs arguments,
                                       std::span<const Tensor> made);

// The graphs that a call runs, each with arguments of its own: one, or forward and backward where an argument
// requires a gradient and there are such graphs. The forward graph runs once for that, without its effects.
std::vector<CapturedGraph> what_runs(const CapturedGraph& captured);

}  // namespace kiln::interp::host

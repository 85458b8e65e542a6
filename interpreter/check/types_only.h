// Owns running without elements: while it lives, ops give tensors that have types alone.
#pragma once

#include "tensor/random.h"
#include "tensor/symbolic_run.h"

namespace kiln::interp::check {

// Rules of types in the place of kernels.
class TypeRules final : public kiln::StandIn {
 public:
  kiln::Tensors run(const kiln::Op& op, kiln::Inputs inputs, const kiln::Attrs& attrs) override;
  // Only elements would change.
  void write(const kiln::Op&, kiln::Inputs, const kiln::Attrs&) override {}
};

// No op computes anything, no tensor is written, no random number is drawn, and nothing is compiled; the
// generator is put back where a seed was set. What
// asks for an element of such a tensor is an OpError (Capture).
class TypesOnly {
 public:
  TypesOnly();
  ~TypesOnly();
  TypesOnly(const TypesOnly&) = delete;
  TypesOnly& operator=(const TypesOnly&) = delete;

 private:
  TypeRules rules_;
  kiln::SymbolicRun run_;
  bool compiled_before_;
  kiln::Generator generator_before_;
};

}  // namespace kiln::interp::check

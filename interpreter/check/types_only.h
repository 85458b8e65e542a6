// Owns running without elements: while it lives, ops give tensors that have types alone.
#pragma once

#include <cstdint>

#include "tensor/random.h"
#include "tensor/symbolic_run.h"

namespace kiln::interp::check {

// What becomes of the elements of tensors that have some, such as `tensor([1, 2])`.
enum class Elements : std::uint8_t {
  Kept,   // nothing computes with them, and writes are not done: the program owns them
  Known,  // ops on a few are computed; a tensor that is written has none any more
};

// Rules of types in the place of kernels.
class TypeRules final : public kiln::StandIn {
 public:
  explicit TypeRules(Elements elements) : elements_(elements) {}
  kiln::Tensors run(const kiln::Op& op, kiln::Inputs inputs, const kiln::Attrs& attrs) override;
  void write(const kiln::Op&, kiln::Inputs inputs, const kiln::Attrs&) override;

 private:
  Elements elements_;
};

// No tensor is written, no random number is drawn, and nothing is compiled; the generator is put back where a
// seed was set. What asks for an element that there is not is an OpError (Capture).
class TypesOnly {
 public:
  explicit TypesOnly(Elements elements);
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

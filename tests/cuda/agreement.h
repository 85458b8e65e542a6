// Owns comparing what ops give on a card with what they give on the CPU, to the bit.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/tensor/tensors.h"

namespace kiln::testing {

// A tensor as another layout shows it, the same on every device.
struct Shown {
  const char* name;
  Tensor (*of)(const Tensor& cube);  // of three dimensions
};
// All kinds of layouts: in order, transposed, with steps, broadcast, without elements, of no dimensions.
extern const std::vector<Shown> kShown;
inline Tensor as_it_is(const Tensor& x) { return x; }

// In a process that has the fake libraries. Products of matrices are exact from then on.
class Agreement {
 public:
  Agreement();

  // Applies the op to the operand in a layout, here and on the card; other operands as they are. The
  // generator is at the same draw for both, and must be so afterwards.
  void check(const std::string& op, const Tensor& operand, const Shown& shown,
             const std::vector<NamedAttr>& attrs, const std::vector<Tensor>& others = {});
  void check(const std::string& op, const Tensor& operand, const std::vector<NamedAttr>& attrs,
             const std::vector<Tensor>& others = {}) {
    check(op, operand, {"as it is", as_it_is}, attrs, others);
  }

  // What a program gives on each device.
  void check_program(const std::string& what, const std::function<Tensors(Device)>& program);
  // The same of the form that writes, through the view that the layout is of the operand: all of that counts.
  void check_written(const std::string& op, const Tensor& operand, const Shown& shown,
                     const std::vector<NamedAttr>& attrs);

  // What did not agree; "" where all did. Says so, too, where less was compared than is expected.
  std::string wrong(int expected) const;

 private:
  struct Outcome {
    std::vector<Tensor> results;
    std::string error;
    std::uint64_t offset = 0;  // of the generator
  };
  using Run = std::function<std::vector<Tensor>(Device device)>;
  Outcome outcome(const Run& run, Device device) const;
  void compare(const std::string& what, const Run& run);

  Device card_;
  int compared_ = 0;
  std::string wrong_;
};

}  // namespace kiln::testing

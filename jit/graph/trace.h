// Owns reading rules written over tensors as steps over values: the body of a composite op, the scatter that
// undoes a view. A rule is run on tensors without elements, and what would be computed is noted.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "jit/graph/rewrite.h"
#include "tensor/levels/level.h"
#include "tensor/symbolic_run.h"

namespace kiln::jit {

// Steps over slots: the operands come first, then the results of each step.
struct Fragment {
  struct Step {
    const Op* op = nullptr;  // null: a constant
    std::vector<Attr> attrs;
    std::vector<Operand> operands;  // values are slots
    std::size_t results = 1;
    Tensor constant;
  };
  std::size_t inputs = 0;
  std::vector<Step> steps;
  std::vector<Operand> outputs;
  std::vector<SizeGuard> guards;  // under which the steps are those of the body

  // The slot that an output is a view of, by views alone: an operand or a result of another kind of step.
  int view_root(std::size_t output) const;
};

// What a rule is given: a tensor that lies in memory as an operand does. The layout of a value, which may be
// symbolic, is asked for in the scope of the trace.
struct TraceOperand {
  Operand operand;
  DType dtype = DType::F32;
  Device device;
  std::function<Layout()> layout;
  bool is_number = false;  // of the host program, whatever it is in the next call
};
using Body = std::function<Tensors(Inputs operands)>;

// Within its scope no level of the caller sees what runs.
class NoLevels {
 public:
  NoLevels() : before_(std::exchange(levels::top, nullptr)) {}
  ~NoLevels() { levels::top = before_; }
  NoLevels(const NoLevels&) = delete;
  NoLevels& operator=(const NoLevels&) = delete;

 private:
  levels::Level* before_;
};

// The symbols of a graph become those of a run. A number that is no size may have any value.
void add_symbols(SymbolicRun& run, const SymbolValues& hints);

// A number of the host program as an operand. Its value must be known.
Operand number_operand(const Tensor& number);
// New tensors without elements, of the types that the op's rule gives. Throws OpError (Capture) where their
// sizes depend on elements.
Tensors results_without_elements(const Op& op, Inputs inputs, const Attrs& attrs);

// Runs `body` once, on tensors whose sizes may be symbols with these values. Nothing when it asks for
// elements. `expands` says which ops are replaced by their bodies.
std::optional<Fragment> trace(const Body& body, std::span<const TraceOperand> operands,
                              const SymbolValues& hints, bool (*expands)(const Op&));

bool is_composite(const Op& op);            // has a body over smaller ops
bool differentiates_by_body(const Op& op);  // is recorded by the tape as the smaller ops of its body
bool expands_nothing(const Op& op);

// Appends the steps, with `operands` in the slots of the inputs, and gives all slots.
std::vector<Operand> inline_steps(Builder& builder, const Fragment& fragment, std::vector<Operand> operands,
                                  const Node& like, std::string name = {});
// Likewise, and gives the outputs.
std::vector<Operand> inline_fragment(Builder& builder, const Fragment& fragment,
                                     std::vector<Operand> operands, const Node& like, std::string name = {});

}  // namespace kiln::jit

// Owns the ops that a function ran, so that they can be run again on what it found: no code of the program
// takes part in that, and whatever was changed since does not matter.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tensor/levels/wrapper.h"
#include "tensor/op.h"
#include "tensor/random.h"
#include "tensor/references.h"
#include "tensor/tape/node.h"

namespace kiln::levels {
class CustomRules;
}

namespace kiln::tape {

// Steps are noted as they run. Their results are known by their memory and layout, so that noting keeps none
// alive. A tensor that no step has made is from outside: its memory is held as it was when a step first read
// it.
class RecordedOps {
 public:
  // `level`: the one whose tape keeps values of these ops; 0: that of plain tensors.
  explicit RecordedOps(LevelId level) : level_(level) {}

  enum class Form : std::uint8_t { Plain, Inplace, Custom };

  // Before a step runs; gives its number. `rules`: of a Custom one, which has no op.
  std::size_t begin(Form form, const Op* op, Inputs inputs, const Attrs& attrs,
                    std::shared_ptr<levels::CustomRules> rules = nullptr);
  // It has run. `keeps`: how many values the tape wanted to keep meanwhile.
  void end(Inputs results, std::size_t keeps);
  // It has failed.
  void drop() { steps_.pop_back(); }

  // Runs all steps again, in order, up to the last of which the tape wants to keep values, with the random
  // numbers of the first run. `before_step` is told the number of each, and how many values that are.
  void run(const std::function<void(std::size_t step, std::size_t keeps)>& before_step) const;

  // Sizes that follow symbols are those at these values from here on.
  void settle(const SymbolValues& values);
  void visit_references(ReferenceVisitor& visitor) const;

 private:
  class Run;

  static constexpr int kAbsent = -1;
  struct Operand {
    int value = kAbsent;
    bool has_history = false;  // at the level
  };
  struct Step {
    Form form = Form::Plain;
    bool recording = true;  // the mode of the tape
    const Op* op = nullptr;
    Attrs attrs;
    std::shared_ptr<levels::CustomRules> rules;
    SmallVector<Operand, 3> operands;
    SmallVector<int, 2> results;
    Generator generator;  // as the step found it
    std::size_t keeps = 0;
  };
  // A tensor from outside: how to make another one like it, over a copy of its memory.
  struct Outside {
    std::uint64_t storage = 0;  // its id
    Layout layout;
    DType dtype = DType::F32;
    bool is_number = false;
    std::optional<Dim> symbol;  // of a number that follows sizes
    Edge history;               // at a level below
    // Of a tensor of a transform.
    LevelId level = 0;
    LevelKind kind = LevelKind::Grad;
    bool captured = false;
    std::shared_ptr<const Layout> memory;  // of the examples of a vmap
    std::unique_ptr<Outside> value, tangent;
    void settle(const SymbolValues& values);
    void visit_references(ReferenceVisitor& visitor) const;
  };
  struct RecordedTensor {
    int value;
    std::uint64_t storage;
    Layout layout;
    DType dtype;
    LevelId level;
    bool is(const Tensor& x) const;
  };

  int value_of(const Tensor& x);
  int add_value(const Tensor& x);
  Outside outside(const Tensor& x);
  bool is_of_level(const Tensor& x) const;

  LevelId level_;
  std::vector<Step> steps_;
  std::size_t needed_ = 0;  // steps up to the last of which values are kept
  int values_ = 0;
  std::vector<std::pair<int, Outside>> outside_;           // by value
  std::unordered_map<std::uint64_t, Ref<Buffer>> memory_;  // that these lie in, by id of the storage
  std::unordered_map<const TensorImpl*, RecordedTensor> known_;
};

}  // namespace kiln::tape

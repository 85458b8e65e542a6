// Owns values that are computed again instead of being kept: what `checkpoint` leaves on the tape.
#pragma once

#include <optional>
#include <vector>

#include "tensor/levels/level.h"
#include "tensor/tape/recorded_ops.h"
#include "tensor/tape/saved.h"

namespace kiln::levels {
class CustomRules;
}

namespace kiln::tape {

// One call of a checkpointed function. The ops that it runs are noted, and what its nodes save at the level
// of the call is numbered in order. When the first value is asked for, these ops run again on what they found
// the first time, and the values of the same numbers are kept. So backward computes what forward did, and the
// code of the program, with its effects on host data, runs once.
class Recompute final : public ValueSource {
 public:
  Recompute();
  ~Recompute() override {
    if (in_run_) SymbolicRun::forget(this);
  }

  // While the function runs: a level that notes its ops.
  class Scope final : public levels::Level {
   public:
    explicit Scope(Recompute& recompute);
    ~Scope() override;

    Tensors bind(const Op& op, Inputs inputs, const Attrs& attrs) override;
    Tensor write(const Op& op, Inputs inputs, const Attrs& attrs, const TensorType& result) override;
    Tensor rearrange(const Op& op, Inputs inputs, const Attrs& attrs) override;
    Tensor adopt(Tensor made) override;
    bool notes_plain() const override { return below() != nullptr && below()->notes_plain(); }
    // A function with derivatives of its own runs once. `apply` is what the levels below do with it.
    Tensors apply(const std::shared_ptr<levels::CustomRules>& rules, Inputs inputs,
                  const std::function<Tensors(const std::shared_ptr<levels::CustomRules>&)>& apply);

   private:
    Tensors bind_once(const Op& op, Inputs inputs, const Attrs& attrs);
    template <class F>
    Tensors note(RecordedOps::Form form, const Op* op, Inputs inputs, const Attrs& attrs,
                 std::shared_ptr<levels::CustomRules> rules, const F& run);
    Recompute& recompute_;
    Recompute* before_;
  };

  // The one that takes what is saved now; null: values are kept.
  static Recompute* current();

  // No two have the same.
  std::uint64_t id() const { return began_; }
  bool is_running_again() const { return collecting_; }
  // The number of the next value; the second time nothing, as the value is kept here and the nodes are not
  // used.
  std::optional<std::size_t> take(const Tensor& value);
  Tensor value(std::size_t number, const TensorType& type) override;
  void forget(std::size_t number) override;
  void visit_references(ReferenceVisitor& visitor) const override {
    kiln::visit_references(ops_, visitor);
    kiln::visit_references(values_, visitor);
  }

 private:
  class Collecting;
  void run();
  void join_run();  // is told the values of symbols that steps follow
  void settle(const SymbolValues& values);

  LevelId level_;
  RecordedOps ops_;
  std::size_t count_ = 0;  // of values so far
  bool in_step_ = false;   // what is saved belongs to a step
  bool collecting_ = false;
  bool wanted_ = false;                       // of the step that runs again
  bool in_run_ = false;                       // a call that is recorded over symbols knows it
  std::uint64_t began_;                       // the first storage that was made since
  std::vector<std::optional<Saved>> values_;  // of the second run
};

}  // namespace kiln::tape

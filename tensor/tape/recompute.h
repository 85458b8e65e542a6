// Owns values that are computed again instead of being kept: what `checkpoint` leaves on the tape.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tensor/levels/wrapper.h"
#include "tensor/random.h"
#include "tensor/tape/saved.h"

namespace kiln::tape {

// One call of a checkpointed function. What its nodes save at the level of the call is numbered in order;
// when the first of it is read, the function runs again and the values of the same numbers are kept. The
// second run reads from outside what the first did, whatever was written there since.
class Recompute final : public ValueSource {
 public:
  // `again` calls the function with the arguments of the first call.
  explicit Recompute(std::function<void()> again);

  // Within its scope nodes of this level number what they would save.
  class Scope {
   public:
    explicit Scope(Recompute* recompute);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Recompute* before_;
  };
  // The one that takes what is saved now; null: values are kept.
  static Recompute* current();
  // Is there a scope on this thread? Asked before every op.
  static bool is_near() { return near_; }
  // An op is about to read or write these.
  static void note_use(Inputs inputs);

  // No two have the same.
  std::uint64_t id() const { return began_; }
  bool is_running_again() const { return collecting_; }
  // The number of the next value; the second time nothing, as the value is kept here and the nodes are not
  // used.
  std::optional<std::size_t> take(const Tensor& value);
  // Throws OpError (Autograd) when the function did not compute the same again.
  Tensor value(std::size_t number, const TensorType& type) override;
  void forget(std::size_t number) override;
  void visit_references(ReferenceVisitor& visitor) const override {
    kiln::visit_references(values_, visitor);
  }

 private:
  void run();
  void note_outside(const Tensor& x);

  // Memory that was there before the call, as the first op found it.
  struct Outside {
    Ref<Storage> storage;
    Ref<Buffer> buffer;
  };
  class AsBefore;

  static inline constinit thread_local bool near_ = false;
  std::function<void()> again_;
  LevelId level_;
  Generator generator_;
  std::size_t count_ = 0;  // in the first run
  bool collecting_ = false;
  std::uint64_t began_;  // the first storage that was made since
  std::unordered_map<const Storage*, Outside> outside_;
  std::vector<std::optional<Saved>> values_;  // of the second run
};
}  // namespace kiln::tape

// Owns generators: calls that stopped at a `yield`, kept by the iterators that go on with them.
#pragma once

#include "interpreter/vm/vm.h"

namespace kiln::interp {

// A generator that ends early passes through its `finally` and `with` as `exit` does.
struct GeneratorClosed : Exit {};

class Generator {
 public:
  explicit Generator(Activation frame) : frame_(std::move(frame)) {}
  // One that stands within a `finally` or `with` is closed later, between two instructions (`close_left`);
  // one that is part of a cycle is not.
  ~Generator();
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  // Runs up to the next `yield`; false when the call has ended. The `yield` that it stands at gives `sent`;
  // ValueError for anything but none where it stands at none yet.
  bool next(Vm& vm, const Value& sent, Value& item);
  // The same, from an error at the `yield` that it stands at. Throws it where the call has ended.
  bool throw_into(Vm& vm, Value error, Value& item);
  // Ends it where it stands: its `finally` and `with` are left.
  void close(Vm& vm);
  // Closes those whose iterators went while something of theirs was left to be done.
  static void close_left(Vm& vm) {
    if (!left_.empty()) [[unlikely]]
      close_all(vm);
  }
  static void forget_left() { left_.clear(); }
  void visit_references(ReferenceVisitor& visitor) const;

 private:
  static void close_all(Vm& vm);
  bool is_done() const { return frame_.function.is_none(); }
  template <class F>
  bool running(const F& f);
  Activation frame_;  // without a function once the call has ended, and while it runs
  bool is_running_ = false;
  static inline thread_local std::vector<Activation> left_;
};

}  // namespace kiln::interp

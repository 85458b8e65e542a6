// Owns a call that is recorded over symbols: its scope, and what is made in it with sizes that are
// expressions. All of that has the ints of the call when the call ends.
#pragma once

#include <functional>

#include "tensor/size_scope.h"
#include "tensor/tensor.h"

namespace kiln {

class Attrs;
struct Op;

// What takes the place of kernels and view rules in a run whose tensors have no elements.
class StandIn {
 public:
  virtual ~StandIn() = default;
  virtual Tensors run(const Op& op, Inputs inputs, const Attrs& attrs) = 0;
  // Into inputs[0].
  virtual void write(const Op& op, Inputs inputs, const Attrs& attrs) = 0;
};

// While it lives, tensors of this thread may have symbols in their layouts, and nodes of the tape in their
// types and attributes. Rules, bodies and derivatives see them, and so what they do follows the symbols.
// Kernels see the sizes of the call (run_eager), or do not run at all.
class SymbolicRun {
 public:
  explicit SymbolicRun(StandIn* stand_in = nullptr);
  ~SymbolicRun();
  SymbolicRun(const SymbolicRun&) = delete;
  SymbolicRun& operator=(const SymbolicRun&) = delete;
  static SymbolicRun* current() { return current_; }  // of this thread; null: all sizes are ints

  StandIn* stand_in() const { return stand_in_; }  // null: kernels run

  SizeScope& scope() { return scope_; }
  const SizeScope& scope() const { return scope_; }
  // Makes ints of all symbols now. Nothing is recorded over them any more.
  void settle();

  // Is told the values of the symbols when the run ends, unless it is forgotten before. Any thread may forget
  // it.
  using Settle = std::function<void(const SymbolValues&)>;
  void add(const void* who, Settle settle);
  static void forget(const void* who);
  // Adds the tensor if its layout has symbols, or if it is a view, whose steps may have them.
  void add(TensorImpl& x);

 private:
  static thread_local constinit SymbolicRun* current_;
  SymbolicRun* outer_;
  StandIn* stand_in_;
  SizeScope scope_;
};

bool has_symbols(const Layout& layout);
// The elements of x, laid out as they are in this call; x itself without symbols.
Tensor at_hints(const Tensor& x);
// Gives a tensor without gaps these sizes: it lies in memory as it does. Where that is not known for other
// sizes, they are fixed.
void give_sizes(const Tensor& x, Dims sizes);
// The strides of a tensor of these sizes with its dimensions in the order of `now`, without gaps, or
// repeated. nullopt for other layouts.
std::optional<Dims> strides_like(const Layout& now, std::span<const Dim> sizes);

}  // namespace kiln

// Owns a call that is recorded over symbols: its scope, and what is made in it with sizes that are
// expressions. All of that has the ints of the call when the call ends.
#pragma once

#include <functional>

#include "tensor/size_scope.h"
#include "tensor/tensor.h"

namespace kiln {

// While it lives, tensors of this thread may have symbols in their layouts, and nodes of the tape in their
// types and attributes. Rules, bodies and derivatives see them, and so what they do follows the symbols.
// Kernels see the sizes of the call (run_eager).
class SymbolicRun {
 public:
  SymbolicRun();
  ~SymbolicRun();
  SymbolicRun(const SymbolicRun&) = delete;
  SymbolicRun& operator=(const SymbolicRun&) = delete;
  static SymbolicRun* current() { return current_; }  // of this thread; null: all sizes are ints

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

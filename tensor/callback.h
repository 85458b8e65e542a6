// Owns functions that are kept for later, of which it can be asked what they hold.
#pragma once

#include <functional>

#include "tensor/references.h"

namespace kiln {

// `f(held..., arguments...)`, where f itself captures nothing.
template <class F, class... Held>
class Holding {
 public:
  explicit Holding(Held... held) : held_(std::move(held)...) {}
  template <class... Arguments>
  decltype(auto) operator()(Arguments&&... arguments) {
    return std::apply(
        [&](auto&... held) -> decltype(auto) { return F()(held..., std::forward<Arguments>(arguments)...); },
        held_);
  }
  void visit_references(ReferenceVisitor& visitor) const { kiln::visit_references(held_, visitor); }

 private:
  std::tuple<Held...> held_;
};
// A function and what it works with, in place of a lambda whose captures nobody could look into.
template <class F, class... Held>
auto holding(F, Held&&... held) {
  static_assert(std::is_empty_v<F>,
                "hand over what the function needs as arguments of `holding`, not as captures");
  return Holding<F, std::decay_t<Held>...>(std::forward<Held>(held)...);
}

// A function whose captures are none of the program's: the search for cycles need not look into it.
template <class F>
struct OpaqueCall {
  F f;
  template <class... Arguments>
  decltype(auto) operator()(Arguments&&... arguments) {
    return f(std::forward<Arguments>(arguments)...);
  }
  void visit_references(ReferenceVisitor&) const {}
};
template <class F>
OpaqueCall<std::decay_t<F>> opaque(F&& f) {
  return {std::forward<F>(f)};
}

// A std::function that knows what it refers to. Takes functions, lambdas without captures, and types that say
// what they hold.
template <class Signature>
class Callback {
 public:
  Callback() = default;
  Callback(std::nullptr_t) {}
  template <class F>
    requires(!std::same_as<std::decay_t<F>, Callback> &&
             (HasReferences<std::decay_t<F>> || std::is_empty_v<std::decay_t<F>> ||
              std::is_function_v<std::remove_pointer_t<std::decay_t<F>>>))
  Callback(F&& f) : function_(std::forward<F>(f)) {
    if constexpr (HasReferences<std::decay_t<F>>) {
      inside_ = [](const std::function<Signature>& function, ReferenceVisitor& visitor) {
        function.template target<std::decay_t<F>>()->visit_references(visitor);
      };
    }
  }

  template <class... Arguments>
  decltype(auto) operator()(Arguments&&... arguments) const {
    return function_(std::forward<Arguments>(arguments)...);
  }
  explicit operator bool() const { return static_cast<bool>(function_); }
  template <class F>
  const F* target() const {
    return function_.template target<F>();
  }
  void visit_references(ReferenceVisitor& visitor) const {
    if (inside_ != nullptr) inside_(function_, visitor);
  }

 private:
  std::function<Signature> function_;
  void (*inside_)(const std::function<Signature>&, ReferenceVisitor&) = nullptr;
};

}  // namespace kiln

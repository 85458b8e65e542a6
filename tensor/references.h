// Owns how it is found what an object refers to: the search for cycles goes through all that is counted,
// whether it is a value of the language, a tensor or a node of the tape.
//
// A type takes part by a member `visit_references(ReferenceVisitor&) const`, or by a function of that name
// beside it. A type that has neither does not compile as a part of one that has: what it holds would keep
// cycles alive.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace kiln {

class ReferenceVisitor;

// An object that others refer to, and that may refer on.
struct Counted {
  const void* object;
  std::size_t count;  // of references to it
  void (*inside)(const void* object, ReferenceVisitor& visitor);
};

class ReferenceVisitor {
 public:
  // For each reference that the object under way owns: exactly one of those that are counted.
  virtual void reference(const Counted& target) = 0;

 protected:
  ~ReferenceVisitor() = default;
};

template <class T>
concept HasReferences =
    requires(const T& object, ReferenceVisitor& visitor) { object.visit_references(visitor); };

template <HasReferences T>
void visit_references(const T& object, ReferenceVisitor& visitor) {
  object.visit_references(visitor);
}

// Numbers, flags, and pointers that own nothing.
template <class T>
  requires(!HasReferences<T> && std::is_trivially_copyable_v<T>)
void visit_references(const T&, ReferenceVisitor&) {}
inline void visit_references(const std::string&, ReferenceVisitor&) {}

// What a tensor refers to beside its memory: history, gradient and hooks, the base of a view, what it stands
// for.
void visit_references(const Tensor& x, ReferenceVisitor& visitor);

template <class T>
void visit_references(const Ref<T>& held, ReferenceVisitor& visitor) {
  if (!held) return;
  visitor.reference({held.get(), held->ref_count(), [](const void* object, ReferenceVisitor& inside) {
                       visit_references(*static_cast<const T*>(object), inside);
                     }});
}
template <class T>
void visit_references(const std::shared_ptr<T>& held, ReferenceVisitor& visitor) {
  if (!held) return;
  visitor.reference({held.get(), static_cast<std::size_t>(held.use_count()),
                     [](const void* object, ReferenceVisitor& inside) {
                       visit_references(*static_cast<const T*>(object), inside);
                     }});
}
template <class T>
void visit_references(const std::unique_ptr<T>& held, ReferenceVisitor& visitor) {
  if (held) visit_references(*held, visitor);
}
template <class T>
void visit_references(const std::optional<T>& held, ReferenceVisitor& visitor) {
  if (held) visit_references(*held, visitor);
}
template <class A, class B>
void visit_references(const std::pair<A, B>& held, ReferenceVisitor& visitor) {
  visit_references(held.first, visitor);
  visit_references(held.second, visitor);
}
template <class T>
void visit_references(const std::vector<T>& held, ReferenceVisitor& visitor) {
  for (const auto& each : held) visit_references(each, visitor);
}
template <class T, std::size_t N>
void visit_references(const SmallVector<T, N>& held, ReferenceVisitor& visitor) {
  for (const auto& each : held) visit_references(each, visitor);
}
template <class... T>
void visit_references(const std::tuple<T...>& held, ReferenceVisitor& visitor) {
  std::apply([&](const auto&... each) { (visit_references(each, visitor), ...); }, held);
}

}  // namespace kiln

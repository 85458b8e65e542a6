// Owns the border to programs in other languages: no exception passes it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "embed/handles.h"
#include "embed/turn.h"

namespace kiln::embed {

// A function of kiln.h was called wrongly.
struct WrongCall {
  std::string message;
};

// Of the exception being handled. Never throws; never null.
kiln_error* current_error() noexcept;

// Throws WrongCall where `pointer`, the argument `name`, is null.
template <class T>
T& given(T* pointer, const char* name) {
  if (pointer == nullptr) throw WrongCall{std::string(name) + " is NULL"};
  return *pointer;
}

// Does `work` in a turn of `session`, which may be null for work on values alone.
template <class F>
kiln_error* guarded(kiln_session* session, const F& work) noexcept {
  try {
    const Turn turn(session);
    work();
    return nullptr;
  } catch (...) {
    return current_error();
  }
}

// The same for a function that needs a session.
template <class F>
kiln_error* guarded_in(kiln_session* session, const F& work) noexcept {
  if (session != nullptr) return guarded(session, [&] { work(*session); });
  return guarded(nullptr, [] { throw WrongCall{"session is NULL"}; });
}

// A new handle of a value.
struct FreeHandle {
  void operator()(kiln_value* handle) const { delete handle; }
};
using Handle = std::unique_ptr<kiln_value, FreeHandle>;
inline Handle handle_of(interp::Value value) { return Handle(new kiln_value{std::move(value)}); }

// Of handles that a caller gives. Throws WrongCall where one is null.
std::vector<interp::Value> values_of(const kiln_value* const* handles, std::size_t count);

}  // namespace kiln::embed

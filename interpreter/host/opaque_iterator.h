// Owns the making of iterators whose steps are known to a function alone.
#pragma once

#include <string>
#include <utility>

#include "interpreter/values/objects.h"
#include "tensor/callback.h"

namespace kiln::interp::host {

// `next(held..., interpreter, item)` gives the next item, or false.
template <class F, class... Held>
Value opaque_iterator(std::string name, F next, Held&&... held) {
  return make<Iterator>(std::move(name), holding(next, std::forward<Held>(held)...));
}

}  // namespace kiln::interp::host

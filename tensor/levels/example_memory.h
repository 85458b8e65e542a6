// Owns what memory the examples of a batch have to themselves: what ops see that count places of the storage.
#pragma once

#include <memory>

#include "tensor/levels/wrapper.h"
#include "tensor/op.h"

namespace kiln::levels {

// The layout of the value whose elements are the own memory of the examples of x, a tensor of a batch level.
std::shared_ptr<const Layout> memory_of(const Tensor& x);

// Throws OpError (Index) when `op`, as_strided or its scatter, reaches places that are not the example's own:
// they belong to another example, or are beyond the end of a batch of another size. `whole`: the number of
// examples.
void check_own_places(const Op& op, const Tensor& x, const Attrs& attrs, Dim whole);

// The attributes with places counted as the value below counts them.
Attrs places_below(const Attrs& attrs, const Layout& memory);

// The memory of a result with the layout of x, every place in it at the same distance from the beginning.
std::shared_ptr<const Layout> memory_like(const Layout& memory, const Tensor& x, const Tensor& result);

}  // namespace kiln::levels

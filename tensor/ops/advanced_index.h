// Owns which dimensions an advanced index speaks of, and what shape results.
#pragma once

#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace kiln::advanced_index {

// What one index does: nothing (absent), integers for one dimension, or a mask over several. Absent inputs
// have the type of a bool number, which no index is.
inline const TensorType kAbsent{DType::Bool, Device{}, {}, true};

struct Item {
  int first;   // the dimension
  int span;    // how many
  Dims sizes;  // of the integers; -1 for as many as a mask holds
  int operand;
};
// `operand`: the number of the first index among the inputs. Throws OpError (Index, DType) for indices that
// do not fit.
std::vector<Item> items_of(const TensorType& x, std::span<const TensorType> indices, int operand);
// The common shape of the indices; throws OpError (Index) where there is none.
Dims broadcast_items(const std::vector<Item>& items);

// The order of dimensions in which indexed ones stand together: where the first one is when they are
// adjacent, else at the front. `before` dimensions come before them.
struct Order {
  std::vector<int> dims;
  int before = 0;
  int indexed = 0;
};
Order order_of(const std::vector<Item>& items, int rank);

// `middle`: the common shape of the indices.
Dims result_sizes(const Dims& x, const Order& order, const Dims& middle);

// Throws OpError (Shape) unless what is put broadcasts to the places that are picked.
void check_values(const TensorType& values, const Dims& places);

}  // namespace kiln::advanced_index

// Owns the tensors that a flow appends to a list: rows of memory while it runs, and tensors by themselves
// where it is left.
#pragma once

#include <optional>
#include <vector>

#include "interpreter/values/value.h"
#include "tensor/tensor.h"

namespace kiln::interp::capture {

class AppendedRows {
 public:
  AppendedRows(List& list, Tensor rows) : list_(&list), rows_(std::move(rows)) {}
  // What the program has in place of a tensor that shows a row: the item of the list, or a view of it.
  // Nothing for other tensors.
  std::optional<Tensor> shown(const Tensor& x);
  // The list, which has had its items before the run alone, gets so many items in all.
  void append_until(std::int64_t length);

 private:
  const Tensor& item(std::int64_t number);

  List* list_;
  Tensor rows_;
  std::vector<Tensor> items_;
};

}  // namespace kiln::interp::capture

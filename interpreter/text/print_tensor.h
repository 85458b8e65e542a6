// Owns how tensors read within a line, and the signature of functions; shared by print and format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "interpreter/values/natives.h"

namespace kiln::interp {

// "tensor([1, 2])" on one line; large ones elided, or by type alone: "tensor(f32[784, 128])".
std::string inline_tensor(const kiln::Tensor& x, const PrintOptions& options);

// A matrix of a tensor as the cells of a table. Rows and columns are numbered as in the tensor; kElided
// stands for those that are left out, whose cells are "…".
struct TensorTable {
  static constexpr std::int64_t kElided = -1;
  std::int64_t matrix = 0;         // of a tensor of rank 3, along its first dimension
  std::vector<std::int64_t> rows;  // of a vector none, which has one row of cells
  std::vector<std::int64_t> columns;
  std::vector<std::vector<std::string>> cells;
};
inline constexpr int kTableRank = 3;

// The values of a tensor of rank 1 to kTableRank, formatted and elided as `tensor_values` prints them: a
// table, or one for each matrix.
std::vector<TensorTable> tensor_tables(const kiln::Tensor& x, const PrintOptions& options);

// As `str_of`, but a tensor of rank 1 or more stays on one line: for text with other text around it.
std::string line_of(Interpreter& interpreter, const Value& value);

// "f(x, y=2)", as it was written; and what its definition says of it.
std::string function_text(const Function& function);
std::string function_name(const Function& function);
std::string function_documentation(const Function& function);

// The only element as a host value; OpError (Value) when there is not exactly one.
Value item_of(const kiln::Tensor& x);

}  // namespace kiln::interp

// Owns lists of numbers as tensors, which flows read and write in their place.
#pragma once

#include <optional>
#include <vector>

#include "interpreter/values/value.h"
#include "tensor/tensor.h"

namespace kiln::interp::capture {

// The items of a list, all of the kind that the dtype stands for (i64: ints, f64: floats, bool), as a tensor
// of rank 1. Nothing for other values. One that grows has room behind its items.
std::optional<Tensor> numbers_of(const Value& v, DType dtype, bool grows);
// The code points of a text; nothing for what is no text, or no valid UTF-8, whose bytes they would not tell.
std::optional<std::vector<std::int64_t>> code_points_of(const Value& v);
bool is_letter(const Value& v);  // text of one code point
// The same as a tensor of rank 1, of text of two code points or more.
std::optional<Tensor> text_as_tensor(const Value& v);
// The list becomes the first numbers of the tensor, as many as it has items.
void put_numbers(const Tensor& numbers, List& list);

}  // namespace kiln::interp::capture

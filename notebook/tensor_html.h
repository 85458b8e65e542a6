// Owns tensors as tables of HTML.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace kiln::notebook {

// The summary line and the values, as the prompt prints them, a table for each matrix. Nothing for a tensor
// that is no table: a number, one without elements, one of more than three dimensions.
std::optional<std::string> tensor_html(const Tensor& x);

// The text with what HTML reads as its own replaced, also within quotes.
std::string escape_html(std::string_view text);

}  // namespace kiln::notebook

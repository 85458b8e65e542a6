// Owns numbers made of text and of other values: what `float` and `complex` are as constructors.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "interpreter/interpreter.h"

namespace kiln::interp::host {

std::string_view stripped(std::string_view text);  // of space on both sides
// Digits without the single underscores that may stand between them; empty when they are misplaced.
std::string without_underscores(std::string_view text);
double parse_float(const std::string& text);  // ValueError where it is no number

[[noreturn]] void refuse_complex_number(std::string_view type);

Value make_complex(Interpreter& interpreter, std::span<Value> arguments);

}  // namespace kiln::interp::host

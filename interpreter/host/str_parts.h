// Owns the pieces that methods of text are made of.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/values/natives.h"

namespace kiln::interp::host {

bool is_space(char32_t c);

// Parts between separators, at most `most` cuts (-1: all), from the right if asked. ValueError when `sep` is
// empty.
std::vector<std::string_view> split_at(std::string_view text, std::string_view sep, std::int64_t most,
                                       bool from_right);
std::vector<std::string_view> split_space(std::string_view text, std::int64_t most, bool from_right);

// `str.format`: {} {0} {name} {x.field} {x[key]} {x!r} {x:spec} with {} inside of a spec, `{{` and `}}`.
std::string format_fields(Interpreter& interpreter, std::string_view text,
                          const std::vector<Value>& positional, Dict& named);

std::span<const NativeDef> str_case_methods();  // upper lower title center isdigit …

}  // namespace kiln::interp::host

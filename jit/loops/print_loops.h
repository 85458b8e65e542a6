// Owns loop nests as text for people: axes, loads with their index maps, the body, stores, and how the
// schedule runs them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "jit/loops/code_line.h"
#include "jit/loops/lower.h"
#include "jit/loops/schedule.h"

namespace kiln::jit {

// A line of one pass, by its number (jit/loops/loops.h): "r2 = add r0, r1 : f32".
std::string line_text(const Lowered& kernel, const Schedule& schedule, std::size_t pass, std::size_t line);

// `comment` gives the comment behind each line; `shared` is how threads share the elements or rows.
using LineComment = std::function<std::string(std::size_t pass, std::size_t line)>;
CodeLines loop_lines(const Lowered& kernel, const Schedule& schedule, const LineComment& comment = {},
                     std::string_view shared = "in threads");

}  // namespace kiln::jit

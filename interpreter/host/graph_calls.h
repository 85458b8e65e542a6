// Owns what `graph(f, …)` does, and passes by name.
#pragma once

#include <span>
#include <string_view>

#include "interpreter/value.h"
#include "jit/pipeline.h"

namespace kiln::interp {
class Interpreter;
}

namespace kiln::interp::host {

// Of the arguments f, args, stage, named.
Value graph_of_call(Interpreter& interpreter, std::span<Value> arguments);
// ValueError that names the nearest when there is none.
const jit::Pass& find_pass_named(std::string_view name);

}  // namespace kiln::interp::host

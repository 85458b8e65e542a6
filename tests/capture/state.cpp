#include "tests/capture/state.h"

#include <limits>

#include "interpreter/state_text.h"

namespace kiln::testing {

std::string state_of(interp::Interpreter& interpreter) {
  interp::StateText text(std::numeric_limits<std::int64_t>::max());
  std::string all;
  for (const std::string& line : interp::state_of_variables(interpreter.main(), text)) all += line + "\n";
  return all;
}

}  // namespace kiln::testing

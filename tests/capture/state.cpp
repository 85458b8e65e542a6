#include "tests/capture/state.h"

#include "interpreter/text/state_text.h"

namespace kiln::testing {

std::string state_of(interp::Interpreter& interpreter) {
  constexpr std::int64_t kShown = 32;  // of larger tensors, one number that all elements make
  interp::StateText text(kShown);
  std::string all;
  for (const std::string& line : interp::state_of_variables(interpreter.main(), text)) all += line + "\n";
  return all;
}

}  // namespace kiln::testing

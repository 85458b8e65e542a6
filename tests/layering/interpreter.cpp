// Links the interpreter without the prompt: a program runs with its output taken by the host.
#include <string>

#include "interpreter/interpreter.h"

int main() {
  std::string out;
  kiln::interp::Options options;
  options.out = [&out](std::string_view text) { out += text; };
  kiln::interp::Interpreter interpreter(std::move(options));
  interpreter.run("layering.kiln", "print(ones(2, 2).sum().item())");
  interpreter.flush();
  return out == "4.0\n" ? 0 : 1;
}

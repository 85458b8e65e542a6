// Links the front end alone: parses, resolves and formats a program without a tensor in sight.
#include "lang/parse.h"

int main() {
  kiln::lang::Sources sources;
  const auto ast = kiln::lang::parse(sources.add("layering.kiln", "fn f(x) = x + 1\ny = f(2)\n"));
  kiln::lang::resolve(*ast);
  return ast->main != nullptr ? 0 : 1;
}

// Owns the comparison of a compiled function's results on a card with the CPU's, for programs of the prompt.
#pragma once

#include <string>

namespace kiln::testing {

// Compares what a function gives for tensors of these sizes, here, on a card at the first call, and again.
inline const std::string kAgree =
    "fn agree(f, sizes) {\n"
    "  all = true\n"
    "  for each in sizes {\n"
    "    seed(1)\n    x = randn(each)\n"
    "    seed(3)\n    here = f(x)\n"
    "    for call in range(2) {\n      seed(3)\n      there = [y.cpu() for y in f(x.cuda())]\n"
    "      for a, b in zip(here, there) { all = all and equal(a, b) }\n    }\n"
    "  }\n  return all\n}";

}  // namespace kiln::testing

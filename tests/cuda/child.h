// Owns running a piece of a test in a process of its own: a library of CUDA's that was opened stays open, so
// each case begins in a process that has opened none.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace kiln::testing {

using Variables = std::vector<std::pair<std::string, std::string>>;

// The text that f gives, in a process with these variables in place of all that lead to libraries of CUDA. A
// process that does not end by itself gives "signal 11".
std::string in_child(const Variables& variables, const std::function<std::string()>& f);

// The three fake libraries, and more variables beside them. A later one of the same name counts.
Variables fakes(const Variables& more = {});

// Message and help of what parse_device says, in a process with these variables.
std::string refusal_of_cuda(const Variables& variables, const std::string& device = "cuda");

}  // namespace kiln::testing

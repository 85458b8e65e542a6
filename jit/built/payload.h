// Owns what a library that `kiln build` makes has in it: a graph, the code of its kernels, its constants.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace kiln::jit {

struct Payload {
  std::string graph;                                      // functional, as text (jit/graph/text.h)
  std::vector<std::pair<std::string, std::string>> code;  // by key (jit/pipeline/code_cache.h)
  std::vector<std::int64_t> inputs;                       // of each: the argument, or -1 - the constant
  std::vector<Tensor> constants;                          // those of inputs, then those of the text
};

std::string to_bytes(const Payload& payload);
// Throws InternalError for bytes that are no payload of this version.
Payload payload_of(std::string_view bytes);

}  // namespace kiln::jit

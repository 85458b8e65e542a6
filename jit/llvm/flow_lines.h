// Owns lines of elements in the machine code of flows: how they are gone through, kVector elements at a time.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "jit/llvm/flow_values.h"

namespace kiln::jit {

// Elements in memory, the next one `stride` elements further; or one element for all: `element`, as memory
// has it.
struct FlowLine {
  DType dtype = DType::F32;
  llvm::Value* first = nullptr;
  llvm::Value* stride = nullptr;
  llvm::Value* element = nullptr;

  bool is_dense() const { return element == nullptr && is_number(stride, 1); }
  static bool is_number(const llvm::Value* value, std::int64_t number);
};
// One that is 0 apart becomes its element.
FlowLine line_of(FlowEmitter& emit, DType dtype, llvm::Value* first, llvm::Value* stride);

// for (i = begin; i < end; i += step), with values that go round: `body` is given those at hand and gives the
// next ones. Gives the last ones. Code is made behind the loop afterwards.
using Round = std::vector<llvm::Value*>;
Round carried_loop(FlowEmitter& emit, llvm::Value* begin, llvm::Value* end, std::int64_t step,
                   const Round& start, const std::function<Round(llvm::Value* index, const Round&)>& body);
// The same behind a condition, where the values may change.
Round only_if(FlowEmitter& emit, llvm::Value* condition, const Round& otherwise,
              const std::function<Round()>& body);

// kVector elements of a line from one on, or as many of them as are there, at least one: `rest`, an i64, null
// where all are. What stands in the place of others is the first of the elements.
llvm::Value* load_elements(FlowEmitter& emit, const FlowLine& line, llvm::Value* index, llvm::Value* rest);
void store_elements(FlowEmitter& emit, const FlowLine& line, llvm::Value* index, llvm::Value* rest,
                    llvm::Value* elements);
// Which elements of a vector are there.
llvm::Value* present(FlowEmitter& emit, llvm::Value* rest);

// Calls f(index, rest) so that `count` elements are gone through in order: all that fill vectors in a loop,
// then what is left.
void each_vector(FlowEmitter& emit, llvm::Value* count,
                 const std::function<void(llvm::Value* index, llvm::Value* rest)>& f);

}  // namespace kiln::jit

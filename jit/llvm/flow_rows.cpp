#include "jit/llvm/flow_rows.h"

namespace kiln::jit {

llvm::Value* fits(const FlowRow&) { return nullptr; }
void emit_elementwise(const FlowRow&) {}
void emit_reduction(const FlowRow&) {}
void emit_product(const FlowRow&) {}
void emit_copy(const FlowRow&) {}
void emit_fill(const FlowRow&) {}

}  // namespace kiln::jit

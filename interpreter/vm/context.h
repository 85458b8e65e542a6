// Owns `ctx`, what the bodies of an autograd function share, and the `info` of its vmap rule.
#pragma once

#include <vector>

#include "interpreter/values/objects.h"
#include "tensor/levels/batch_level.h"

namespace kiln::interp::host {

// A struct instance with the methods save, mark_dirty, mark_non_differentiable, set_materialize_grads;
// authors add fields of their own.
Value new_context(const Value& needs_input_grad);
// One as backward finds it.
Value new_context(const Value& needs_input_grad, std::vector<Value> saved);

bool is_context(const Value& v);

// What forward told the context. Taken out of it: the context keeps no tensor that the tape keeps.
struct ContextMarks {
  std::vector<Value> saved, dirty, non_differentiable;
  bool materialize_grads;
};
ContextMarks take_marks(const Value& context);

// Within its scope the context has these saved values, as tensors of the level that runs.
class ContextScope {
 public:
  ContextScope(const Value& context, Value saved, Value needs_input_grad);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  Value context_, saved_, needs_;
};

// Fields batch_size and randomness.
Value new_vmap_info(kiln::Dim size, levels::Randomness randomness);

}  // namespace kiln::interp::host

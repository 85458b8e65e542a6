// Owns automatic precision, as programs ask for it by `with autocast(bf16) { … }`: products and convolutions
// take their operands in that dtype, sums, exponentials and losses in f32. It belongs to the thread. Which
// ops do which is a trait of their rows (kLowPrecision, kFullPrecision).
#pragma once

#include <optional>

#include "tensor/op.h"

namespace kiln::autocast {

// Read on every op.
extern thread_local constinit bool is_on;

void turn_on(DType low);
void turn_off();
// One number for all that there is to know: 0 where it is off.
std::int64_t state();
std::optional<DType> dtype_of(std::int64_t state);  // absent where it is off
void restore(std::int64_t state);

// As kiln::bind, with operands in the dtypes that the row asks for. Within the op it is off.
Tensors bind(const Op& op, Inputs inputs, const Attrs& attrs);

// Off within its scope: for graphs, which have their conversions in them, and for derivatives, which take
// gradients in the dtypes of what they are gradients of.
class Off {
 public:
  Off() : before_(state()) { turn_off(); }
  ~Off() { restore(before_); }
  Off(const Off&) = delete;
  Off& operator=(const Off&) = delete;

 private:
  std::int64_t before_;
};

}  // namespace kiln::autocast

#include "tensor/fast_math.h"

namespace kiln {
namespace {

thread_local constinit bool is_allowed = false;

}  // namespace

bool fast_math() { return is_allowed; }
void set_fast_math(bool allowed) { is_allowed = allowed; }

}  // namespace kiln

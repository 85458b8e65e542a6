#include "interpreter/values/unknown.h"

namespace kiln::interp {

Value unknown_value() {
  auto* unknown = new Opaque();
  Value value{static_cast<Object*>(unknown)};
  unknown->name = "unknown";
  unknown->is_unknown = true;
  return value;
}

void refuse_unknown() { throw Unknowable{"it depends on a value that only a run can tell"}; }

}  // namespace kiln::interp

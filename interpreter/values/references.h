// Owns what values of the language refer to, for whatever keeps some.
#pragma once

#include "interpreter/values/value.h"
#include "tensor/callback.h"

namespace kiln::interp {

using kiln::visit_references;
void visit_references(const Value& value, ReferenceVisitor& visitor);

}  // namespace kiln::interp

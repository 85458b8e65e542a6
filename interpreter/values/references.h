// Owns what values of the language refer to, for whatever keeps some.
#pragma once

#include "interpreter/values/value.h"
#include "tensor/callback.h"

namespace kiln::interp {

using kiln::visit_references;
void visit_references(const Value& value, ReferenceVisitor& visitor);
// The object of the language that is referred to; null when it is something else.
Object* object_of(const kiln::Counted& target);

}  // namespace kiln::interp

// Owns how the arguments of a call meet the parameters of what is called.
#pragma once

#include "interpreter/vm/vm.h"

namespace kiln::interp {

// Puts arguments into `out`, one for each parameter, in order. Throws UserError (TypeError) that names the
// function and the parameter.
void bind_function(const Function& function, Arguments& arguments, Value* out);
std::vector<Value> bind_native(const Native& native, Arguments& arguments);
// Fields of a struct without `init`, by position or name.
void bind_fields(const StructType& type, Arguments& arguments, Instance& instance);
Value new_instance(const Value& type);

// Calls a host function with arguments as they were written.
Value call_native_with(Interpreter& interpreter, const Native& native, Arguments& arguments);

}  // namespace kiln::interp

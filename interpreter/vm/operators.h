// Owns the meaning of the operators on every kind of value; the VM's fast paths agree with it.
#pragma once

#include "interpreter/values/value.h"
#include "lang/ast.h"

namespace kiln::interp {

class Interpreter;

Value binary_operator(Interpreter& interpreter, lang::BinaryOp op, const Value& a, const Value& b);
// `target op= value`: writes into a tensor, extends a list, else gives `target` a new value.
void augmented_operator(Interpreter& interpreter, lang::BinaryOp op, Value& target, const Value& value);
Value compare_operator(Interpreter& interpreter, lang::CompareOp op, const Value& a, const Value& b);
Value unary_operator(Interpreter& interpreter, lang::UnaryOp op, const Value& v);
bool truth_of(Interpreter& interpreter, const Value& v);

// x[index] and x[index] = value for every kind of x.
Value get_index(Interpreter& interpreter, const Value& object, const Value& index);
void set_index(Interpreter& interpreter, const Value& object, const Value& index, const Value& value);
// Was what `object[index] op= v` changed written through a view of the object, so that nothing is to be
// written back?
bool is_written_through(const Value& object, const Value& changed);

void delete_index(Interpreter& interpreter, const Value& object, const Value& index);

// object.name and object.name = value.
Value get_attribute(Interpreter& interpreter, const Value& object, std::string_view name);
void set_attribute(Interpreter& interpreter, const Value& object, std::string_view name, const Value& value);

}  // namespace kiln::interp

// Owns what the dispatch loop leaves to functions: operators on values other than plain numbers, rare turns.
#pragma once

#include "interpreter/vm/vm.h"

namespace kiln::interp {

// Operands are those of the instruction; temporaries among them are consumed when all went well.
[[gnu::cold]] void slow_binary(Vm& vm, lang::BinaryOp op, Value* r, const Instruction& i);
[[gnu::cold]] void slow_binary_number(Vm& vm, lang::BinaryOp op, Value* r, const Instruction& i);
[[gnu::cold]] void slow_augmented(Vm& vm, lang::BinaryOp op, Value* r, const Instruction& i);
[[gnu::cold]] void slow_augmented_number(Vm& vm, lang::BinaryOp op, Value* r, const Instruction& i);
[[gnu::cold]] void slow_compare(Vm& vm, lang::CompareOp op, Value* r, const Instruction& i);
[[gnu::cold]] bool slow_compare_truth(Vm& vm, lang::CompareOp op, Value* r, const Instruction& i);
[[gnu::cold]] bool slow_compare_number_truth(Vm& vm, lang::CompareOp op, Value* r, const Instruction& i);
bool slow_truth(Vm& vm, Value& x, bool consume);
void slow_get_index(Vm& vm, Value* r, const Instruction& i);
void slow_set_index(Vm& vm, Value* r, const Instruction& i);
void slow_get_attribute(Vm& vm, Value* r, const Instruction& i);
// True when the loop goes on, with the item in R[b].
bool slow_next(Vm& vm, Value* r, const Instruction& i);
bool begin_spread_call(Vm& vm, Value* r, const Instruction& i);
bool begin_spread_method_call(Vm& vm, Value* r, const Instruction& i);
[[gnu::cold]] [[noreturn]] void unset_error(Vm& vm, std::string_view name);
[[gnu::cold]] [[noreturn]] void tensor_chain_error();

}  // namespace kiln::interp

// Owns the way from a resolved tree to bytecode.
#pragma once

#include <memory>

#include "interpreter/values/code.h"
#include "lang/ast.h"

namespace kiln::interp {

// The code of the tree's top level, to run with `module`'s variables. Makes slots in `module` for every
// global name it meets. Throws UserError (SyntaxError) for what does not fit the instruction format.
std::shared_ptr<Code> compile(std::shared_ptr<lang::Ast> ast, Module& module);

}  // namespace kiln::interp

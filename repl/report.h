// Owns the page of `kiln report`: what became of every function of a program that ran.
#pragma once

#include <string>

#include "interpreter/interpreter.h"

namespace kiln::repl {

// HTML that needs no other file: the hot functions, then of each function and method, and of the loops at top
// level, entries with their guards, graphs and kernels, breaks, compiles of the same code for other
// arguments, and why.
std::string report_page(interp::Interpreter& interpreter, const std::string& title);

}  // namespace kiln::repl

// Owns what a program and the library around LLVM hand each other.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "jit/loops/loops.h"

namespace kiln::jit {

enum class Product : std::uint8_t { Object, Llvm, Assembly };

// In code as text, lines that begin with it and a number say which line of the nest what follows belongs to.
inline constexpr char kMark = '@';

// The function that a nest becomes.
inline std::string kernel_symbol(std::size_t nest) { return "kernel" + std::to_string(nest); }

// What is handed to the library around LLVM, and what comes back. Nothing is thrown across.
struct CompileRequest {
  std::span<const LoopNest> nests;
  std::string processor;  // the instruction set by its name, "x86-64-v4"
  Product product = Product::Object;
  std::vector<std::vector<std::string>> names;
};
struct CompileAnswer {
  std::string made;   // the bytes of the object, or the text
  std::string error;  // empty when all is well
};
using CompileFn = void (*)(const CompileRequest& request, CompileAnswer& answer);

}  // namespace kiln::jit

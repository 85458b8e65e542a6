// Owns running programs and the names of their functions, by which runners find them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ort/library/process.h"

struct kiln_ort_program {
  kiln_ort_program(const std::string& executable, const std::string& file) : process(executable, file) {}
  kiln::ort::Process process;
};

struct kiln_ort_model {
  struct Function {
    std::string name;
    bool infers_shape = false;
  };
  std::string bytes;
  std::vector<Function> functions;
};

namespace kiln::ort {

inline constexpr const char* kConstantName = "kiln.constant";  // of capsules that stand for constants

// From now on runners call this program for the name. Throws where another one is called for it.
void register_function(const std::string& name, const std::shared_ptr<kiln_ort_program>& program);
// Throws std::runtime_error where no model with that function was loaded.
std::shared_ptr<kiln_ort_program> program_of(const std::string& name);
// Keeps a program running; forgets it, and its functions.
void keep_program(std::shared_ptr<kiln_ort_program> program);
std::shared_ptr<kiln_ort_program> kept_program(kiln_ort_program* program);
void forget_program(kiln_ort_program* program);

}  // namespace kiln::ort

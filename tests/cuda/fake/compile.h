// Owns making a library of the host of a program in CUDA C++ by the compiler, and keeping it for other
// processes.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace kiln::fake {

struct Source {
  std::string text, name;
  std::vector<std::pair<std::string, std::string>> headers;  // name, text
  std::vector<std::string> options;                          // of the compiler
};

enum class Outcome { Compiled, Refused, Stopped, NoCompiler };

struct Compiled {
  Outcome outcome = Outcome::NoCompiler;
  std::string library;  // the file's bytes
  std::string log;
};

// `must_stop` is asked now and then while the compiler runs.
Compiled compile(const Source& source, const std::function<bool()>& must_stop);

}  // namespace kiln::fake

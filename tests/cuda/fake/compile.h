// Owns making a library of the host of a program in CUDA C++ by the compiler, and keeping it for other
// processes. The compiler reads the text itself, or what a real NVRTC makes of it (KILN_FAKE_PTX).
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda/fake/nvrtc_options.h"

namespace kiln::fake {

struct Source {
  std::string text, name;
  std::vector<std::pair<std::string, std::string>> headers;  // name, text
  Options options;
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

// Owns what an Interpreter is made of.
#pragma once

#include <string>
#include <vector>

#include "interpreter/interpreter.h"
#include "interpreter/text/live_lines.h"
#include "interpreter/values/own_pass.h"
#include "interpreter/vm/kept_frames.h"
#include "interpreter/vm/modules.h"
#include "interpreter/vm/vm.h"

namespace kiln::interp {

struct Interpreter::Impl {
  Value main, prelude;                                      // keep the modules alive
  std::vector<OwnPass> own_passes;                          // that the program has registered
  std::vector<std::pair<std::string, Value>> file_objects;  // by the names that files know them by
  std::string backend;                                      // of what becomes hot
  Modules modules;
  std::vector<KeptFrame> kept_frames;  // of the last error that was not caught, innermost first
  LiveLines live_lines;
  Vm vm;

  explicit Impl(Interpreter& interpreter)
      : backend(interpreter.options().backend),
        modules(interpreter),
        live_lines([&interpreter](std::string_view text) { interpreter.options().err(text); },
                   interpreter.options().frontend.show_lines),
        vm(interpreter) {}
};

}  // namespace kiln::interp

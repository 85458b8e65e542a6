// Owns what stands behind the handles of kiln.h.
#pragma once

#include <string>
#include <thread>

#include "embed/kiln.h"
#include "interpreter/interpreter.h"
#include "interpreter/values/value.h"

struct kiln_session {
  kiln::interp::Interpreter interpreter;
  bool writes_to_process;  // its text goes to the process's own stdout, which has a buffer
  int texts_run = 0;
  int watched_signal = 0;  // 0: none
  std::thread::id watching_thread{};
};

struct kiln_value {
  kiln::interp::Value value;
};

struct kiln_error {
  kiln_error_kind kind = KILN_ERROR_INTERNAL;
  std::string name, code, message, text, json, file;
  int line = 0;
  int exit_code = 0;
};

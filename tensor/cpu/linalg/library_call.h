// Owns calls of LAPACK on large matrices, which Ctrl-C does not wait for.
#pragma once

#include <memory>
#include <utility>

#include "tensor/cpu/linalg/matrices.h"
#include "tensor/detached_call.h"

namespace kiln::cpu {

// Gives f(), a call of the library that takes about `work` multiply-adds and touches pieces of `memory`
// alone: `f` holds their addresses by value. A long call goes on with that memory when Ctrl-C leaves it
// behind. Throws OpError (Interrupted).
template <class F>
int call_library(Scratch& memory, double work, F f) {
  constexpr double kLong = 1e8;  // some 10 ms
  if (work < kLong) return f();
  struct Call {
    explicit Call(F its_f) : f(std::move(its_f)) {}
    F f;
    int result = 0;
    Scratch memory;
  };
  const auto call = std::make_shared<Call>(std::move(f));
  try {
    run_detached([call] { call->result = call->f(); });
  } catch (...) {
    call->memory.take_over(memory);
    throw;
  }
  return call->result;
}

}  // namespace kiln::cpu

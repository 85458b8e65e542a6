// Owns what kernels that are printed from loop nests share.
#pragma once

#include "tensor/cuda/kernels/walk.cuh"
#include "tensor/ops/scalar.h"

namespace kiln::cuda {

// What a launch gives a nest: one word each, in this order (jit/cuda/arguments.h).
template <int kOperands, int kResults, int kNumbers>
struct Arguments {
  Count rows;                        // of a nest without reductions 1
  Count length;                      // elements of a row
  Count blocks;                      // of a row
  Axes<kOperands> outer;             // along the rows
  Axes<kOperands> inner;             // within a row
  void* data[kOperands + kResults];  // results of reductions have no axes
  Count numbers[kNumbers + 1];       // sizes, and one word that is not used
  unsigned long long* fault;  // the word that an element which an op refuses lowers (tensor/cuda/faults.h)
  unsigned long long launch;
};

// A number stands in the place of an address.
template <class T>
KILN_MATH T number(void* const& word) {
  return *reinterpret_cast<const T*>(&word);
}

// What an index adds to a place. `words`: the least value, the size and the step (jit/cuda/gather.h).
KILN_MATH Count index_step(Count value, const Count* words, unsigned& refused) {
  if (value < words[0] || value >= words[1]) {
    refused = 1;
    return 0;
  }
  return (value < 0 ? value + words[1] : value) * words[2];
}

// The element there, unless an index was refused. Arguments are evaluated before: `refused` is a reference.
template <class T>
KILN_MATH T picked(const void* data, Count place, const unsigned& refused) {
  return refused != 0 ? T{} : element<T>(data, place);
}

// The refusal of the first launch counts, and of its lowest line.
template <int kOperands, int kResults, int kNumbers>
KILN_MATH void refuse(const Arguments<kOperands, kResults, kNumbers>& given, unsigned line) {
  atomicMin_system(given.fault, (given.launch << 40) | line);
}

}  // namespace kiln::cuda

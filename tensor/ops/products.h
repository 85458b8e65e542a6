// Owns running ops whose results can be handed out piece by piece while they are in cache.
#pragma once

#include "tensor/cpu/result_pieces.h"
#include "tensor/op.h"

namespace kiln {

// Of results of f32 and f64.
bool gives_pieces(const Op& op);
// As the eager kernel of the op.
void run_in_pieces(const Op& op, Inputs inputs, const Attrs& attrs, cpu::ResultPieces& pieces);

// Those of one file's ops; null for others.
using PiecesFn = void (*)(const Op& op, Inputs inputs, const Attrs& attrs, cpu::ResultPieces& pieces);
PiecesFn pieces_of_products(const Op& op);      // linalg.cpp: matmul linear
PiecesFn pieces_of_convolutions(const Op& op);  // convolution.cpp: convolution convolution_input

}  // namespace kiln

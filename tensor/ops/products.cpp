#include "tensor/ops/products.h"

namespace kiln {
namespace {

PiecesFn pieces_of(const Op& op) {
  const PiecesFn of_product = pieces_of_products(op);
  return of_product != nullptr ? of_product : pieces_of_convolutions(op);
}

}  // namespace

bool gives_pieces(const Op& op) { return pieces_of(op) != nullptr; }

void run_in_pieces(const Op& op, Inputs inputs, const Attrs& attrs, cpu::ResultPieces& pieces) {
  pieces_of(op)(op, inputs, attrs, pieces);
}

}  // namespace kiln

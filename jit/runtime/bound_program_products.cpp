#include <algorithm>
#include <span>

#include "jit/runtime/bound_program_notes.h"

namespace kiln::jit {
namespace {

using Notes = std::vector<BoundNote>;
using Values = std::vector<BoundValue>;

bool multiplies_vector(const BoundNote& note, const Values& values) {
  if (note.how != BoundKind::Product) return false;
  const Tensor& x = values[note.operands[0]].tensor;
  return x.numel() == x.size(-1) && values[note.operands[1]].tensor.rank() == 2;
}

bool may_share(const BoundNote& a, const BoundNote& b, const Values& values) {
  if (a.how != BoundKind::Product || a.is_shared) return false;
  const BoundValue &x = values[a.operands[0]], &y = values[b.operands[0]];
  const BoundValue &matrix = values[a.operands[1]], &other = values[b.operands[1]];
  const auto lie_alike = [](const Tensor& one, const Tensor& another) {
    return one.type() == another.type() && one.strides() == another.strides();
  };
  return lie_alike(x.tensor, y.tensor) && lie_alike(matrix.tensor, other.tensor) &&
         matrix.root == other.root && matrix.tensor.offset() == other.tensor.offset();
}

}  // namespace

void share_matrices(Notes& notes, const Values& values, const std::vector<bool>& early, std::size_t end) {
  const auto arrives = [&](std::size_t vector) {
    const std::size_t root = values[vector].root;
    return values[root].home == StoredAt::Arriving || early[root];
  };
  for (std::size_t n = 0; n < end; ++n) {
    BoundNote& note = notes[n];
    if (!multiplies_vector(note, values) || !arrives(note.operands[0])) continue;
    const auto before = std::span(notes).first(n);
    const auto first =
        std::ranges::find_if(before, [&](const BoundNote& each) { return may_share(each, note, values); });
    if (first == before.end()) continue;
    first->operands.push_back(note.operands[0]);
    first->results.push_back(note.results[0]);
    note.is_shared = true;
  }
}

}  // namespace kiln::jit
